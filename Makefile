# Builds and checks redoahead: the program from userspace/, with its BPF programs
# from bpf/ and what it shares with the extension; unit tests, test tools and
# fuzzers from tests/.  PostgreSQL and the server extension are built by
# scripts/build-postgresql, which has a cache of its own.
#
#   make V=1          shows the commands
#   make PG=17        uses PostgreSQL 17 instead of 18
#   make PG_SRC=DIR   uses this PostgreSQL source tree instead of Debian's

CC      = gcc
CLANG   = clang
prefix  = /usr/local
bindir  = $(prefix)/bin
mandir  = $(prefix)/share/man
libexecdir = $(prefix)/libexec
docdir  = $(prefix)/share/doc/redoahead
unitdir = $(prefix)/lib/systemd/system
completiondir = $(prefix)/share/bash-completion/completions
PG_CONFIG ?= pg_config

CFLAGS   = -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes
override CPPFLAGS += -D_GNU_SOURCE -Iuserspace -I. -Ibuild
# Expanded once, and only by targets that compile.
LIBRARIES  = liburing json-c libbpf libelf libisal liblz4 libzstd libsystemd libcap ncursesw
LIB_CFLAGS = $(eval LIB_CFLAGS := $(shell pkg-config --cflags $(LIBRARIES)))$(LIB_CFLAGS)
LIB_LIBS   = $(eval LIB_LIBS := $(shell pkg-config --libs $(LIBRARIES)) -lm)$(LIB_LIBS)
DAEMON_CFLAGS = -std=gnu11 $(CFLAGS) $(WARNINGS) $(CPPFLAGS) $(LIB_CFLAGS) -pthread -MMD -MP
# Debian installs bpftool in a directory that is in the PATH of root only.
BPFTOOL    = PATH="$$PATH:/usr/sbin" bpftool
BPF_ARCH   = $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
# The kernel shows names of source files, which shall not depend on where they are.
BPF_CFLAGS = -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -D__TARGET_ARCH_$(BPF_ARCH) -Ibpf -MMD -MP \
	-fdebug-compilation-dir=.
# The functions of a unit test have a parameter that few need.
UNIT_CFLAGS = $(DAEMON_CFLAGS) -Wno-unused-parameter
FUSE_CFLAGS = $(eval FUSE_CFLAGS := $(shell pkg-config --cflags fuse3))$(FUSE_CFLAGS)
FUSE_LIBS   = $(eval FUSE_LIBS := $(shell pkg-config --libs fuse3))$(FUSE_LIBS)
FUZZ_CFLAGS   = -std=gnu11 -O1 -g $(CPPFLAGS) $(LIB_CFLAGS) -pthread -MMD -MP \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined

SOURCES      := $(sort $(shell find userspace -name '*.c' 2>/dev/null))
# A unit test with a script run-NAME is of extension code, and builds itself.
UNIT_SOURCES := $(filter-out $(patsubst tests/unit/run-%,tests/unit/test_%.c,$(wildcard \
	tests/unit/run-*)),$(sort $(wildcard tests/unit/test_*.c)))
TOOL_SOURCES := $(sort $(wildcard tests/tools/*.c))
# Those of the patched server's code are built by tests/run.
FUZZ_SOURCES := $(filter-out tests/fuzz/fuzz_page_%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

OBJECTS      := $(SOURCES:%.c=build/%.o)
# Everything but the program's main(), which a test or a fuzzer brings itself.
LIB_OBJECTS  := $(filter-out build/userspace/main.o,$(OBJECTS))
FUZZ_OBJECTS := $(LIB_OBJECTS:build/%=build/fuzz/%)
UNIT_TESTS   := $(UNIT_SOURCES:tests/unit/test_%.c=build/tests/unit/%)
TOOLS        := $(TOOL_SOURCES:%.c=build/%)
FUZZERS      := $(FUZZ_SOURCES:tests/fuzz/%.c=build/tests/fuzz/%)
DISKMODEL_OBJECTS := $(patsubst %.c,build/%.o,$(sort $(wildcard scripts/diskmodel/*.c)))
# The model alone, which its unit test runs in a time of its own.
DISKMODEL_CORE := $(patsubst %,build/scripts/diskmodel/%.o,disk geometry readahead \
	spindle volume writeback)
MAN_PAGES    := $(wildcard userspace/*.[1-8])
UNITS        := $(wildcard scripts/systemd/*.service)
EXAMPLES     := $(wildcard scripts/systemd/examples/* scripts/monitoring/*.json \
	scripts/monitoring/redoahead.rules.yml)
# What install makes and uninstall removes.
INSTALLED     = $(bindir)/redoahead $(completiondir)/redoahead $(UNITS:scripts/systemd/%=$(unitdir)/%) \
	$(libexecdir)/redoahead/run-unit $(addprefix $(docdir)/examples/,$(notdir $(EXAMPLES))) \
	$(foreach page,$(MAN_PAGES),$(mandir)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))

Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))
MAKEFLAGS += --no-builtin-rules --no-print-directory

.DEFAULT_GOAL := all
.PRECIOUS: build/fuzz/%.o build/bpf/%.bpf.o build/bpf/%.skel.h
.DELETE_ON_ERROR:
.PHONY: all tests-programs bootstrap postgresql demo check check-fast check-unit \
	check-fuzz check-python check-bats check-postgresql bench bench-recovery install uninstall install-extension deb clean \
	distclean help

all: build/redoahead ## Build the redoahead program (default)
	@:

tests-programs: all $(UNIT_TESTS) $(TOOLS) $(FUZZERS) build/diskmodel ## Build unit tests, test tools, fuzzers and the disk model
	@:

bootstrap: ## Install the Debian packages that the build and the tests need
	$(Q)scripts/bootstrap

postgresql: bootstrap ## Fetch and build PostgreSQL, stock and patched, with the extension
	$(Q)scripts/build-postgresql stock >/dev/null
	$(Q)scripts/build-postgresql patched

# A sub-make, because what bootstrap installs decides how things are compiled.
demo: postgresql ## Crash a pgbench cluster and recover it five ways; build/demo.json
	$(Q)$(MAKE) all
	$(Q)scripts/demo

bench: postgresql ## Run the benchmark of prefetching (scripts/bench prefetch; long)
	$(Q)$(MAKE) all
	$(Q)scripts/bench prefetch

bench-recovery: postgresql ## Reproduce published measurements of recovery (scripts/bench s1 to s5; long)
	$(Q)scripts/build-postgresql pg13-compactify >/dev/null
	$(Q)$(MAKE) all
	$(Q)scripts/bench s1 s2 s3 s4 s5 --output build/bench-recovery --plots

check: ## Run every test; the last line is the summary
	$(Q)tests/run

check-fast: ## Run what needs no PostgreSQL server
	$(Q)tests/run --fast

# T=NAME runs one test or file only, F=FILTER of bats files the tests that match.
ONLY = $(if $(T),-t '$(T)') $(if $(F),-f '$(F)')

check-unit: ## Run the unit tests, or one: T=block_queue
	$(Q)tests/run $(ONLY) unit

check-fuzz: ## Run each fuzzer for a short time, or one: T=serve
	$(Q)tests/run $(ONLY) fuzz

check-python: ## Run the tests of the scripts' modules
	$(Q)tests/run python

check-bats: ## Run the black box tests, or some: T=faults F=killed
	$(Q)tests/run $(ONLY) bats

check-postgresql: ## Run PostgreSQL's own tests on the patched server, or some: T=recovery
	$(Q)tests/run $(ONLY) postgresql

install: all ## Install program, man pages, units, completion, examples (DESTDIR, prefix)
	@# A restore_command that is not found ends recovery: it is replaced in one step.
	$(Q)install -D -m 755 build/redoahead '$(DESTDIR)$(bindir)/redoahead.new'
	$(Q)mv -f '$(DESTDIR)$(bindir)/redoahead.new' '$(DESTDIR)$(bindir)/redoahead'
	$(Q)install -D -m 644 scripts/completion/redoahead '$(DESTDIR)$(completiondir)/redoahead'
	$(Q)set -e; for page in $(MAN_PAGES); do \
		install -D -m 644 "$$page" "$(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/}"; done
	$(Q)install -D -m 755 scripts/systemd/run-unit '$(DESTDIR)$(libexecdir)/redoahead/run-unit'
	$(Q)sed -i 's|/usr/bin/redoahead|$(bindir)/redoahead|g' '$(DESTDIR)$(libexecdir)/redoahead/run-unit'
	$(Q)install -D -m 644 -t '$(DESTDIR)$(docdir)/examples' $(EXAMPLES)
	$(Q)set -e; for unit in $(UNITS); do \
		install -D -m 644 "$$unit" "$(DESTDIR)$(unitdir)/$${unit##*/}"; \
		sed -i 's|/usr/libexec/redoahead|$(libexecdir)/redoahead|g' "$(DESTDIR)$(unitdir)/$${unit##*/}"; done

uninstall: ## Remove what install has installed (DESTDIR, prefix)
	$(Q)rm -f $(foreach file,$(INSTALLED),'$(DESTDIR)$(file)')
	$(Q)for directory in '$(DESTDIR)$(libexecdir)/redoahead' '$(DESTDIR)$(docdir)/examples' '$(DESTDIR)$(docdir)'; do \
		[ ! -d "$$directory" ] || rmdir --ignore-fail-on-non-empty "$$directory"; done

install-extension: ## Build and install the server extension (PG_CONFIG, DESTDIR)
	$(Q)rm -rf build/extension && mkdir -p build && cp -R pg-patch/redoahead build/extension
	$(Q)cp -R userspace/common build/extension/common
	$(Q)$(MAKE) -C build/extension clean PG_CONFIG='$(PG_CONFIG)' >/dev/null
	$(Q)$(MAKE) -C build/extension install PG_CONFIG='$(PG_CONFIG)' DESTDIR='$(DESTDIR)'

deb: ## Build Debian packages of the program and the extension, in build/deb
	$(Q)scripts/packaging/build-deb

clean: ## Remove what was compiled, but not the PostgreSQL builds
	$(Q)rm -rf build/userspace build/pg-patch build/bpf build/tests build/fuzz build/scripts build/extension \
		build/redoahead build/diskmodel build/flags build/objects

distclean: ## Remove build/ altogether (the cache of PostgreSQL builds stays)
	$(Q)rm -rf build

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# What was compiled with other flags, or linked from other objects, is made anew: these files
# have those of the last time.  Without a change they are older than what depends on them.
FLAGS = $(CC) $(CLANG) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS)
ALL_OBJECTS = $(OBJECTS) $(DISKMODEL_OBJECTS)
ifneq ($(strip $(file <build/flags)),$(strip $(FLAGS)))
.PHONY: build/flags
endif
ifneq ($(strip $(file <build/objects)),$(strip $(ALL_OBJECTS)))
.PHONY: build/objects
endif
build/flags: export text = $(FLAGS)
build/objects: export text = $(ALL_OBJECTS)
build/flags build/objects:
	$(Q)mkdir -p build && printf '%s\n' "$$text" >$@

build/redoahead: $(OBJECTS) build/objects
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(OBJECTS) $(LIB_LIBS)

$(OBJECTS): build/%.o: %.c Makefile build/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DAEMON_CFLAGS) -c -o $@ $<

build/bpf/%.bpf.o: bpf/%.bpf.c Makefile build/flags
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MF build/bpf/$*.d -MT $@ -c -o build/bpf/$*.o $<
	$(Q)$(BPFTOOL) gen object $@ build/bpf/$*.o

build/bpf/%.skel.h: build/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@.tmp
	$(Q)mv $@.tmp $@

# What includes a skeleton cannot be compiled before there is one.
build/userspace/probe/probe.o build/fuzz/userspace/probe/probe.o: build/bpf/trace.skel.h
build/userspace/probe/position_probe.o build/fuzz/userspace/probe/position_probe.o: build/bpf/position.skel.h

build/diskmodel: $(DISKMODEL_OBJECTS) build/userspace/base/log.o build/userspace/base/utf8.o build/userspace/cmd/options.o build/objects
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(FUSE_LIBS) $(LIB_LIBS)

build/scripts/diskmodel/%.o: scripts/diskmodel/%.c Makefile build/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DAEMON_CFLAGS) $(FUSE_CFLAGS) -c -o $@ $<

build/tests/unit/diskmodel: tests/unit/test_diskmodel.c $(DISKMODEL_CORE) Makefile build/flags
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CFLAGS) -Iscripts -MF $@.d $(LDFLAGS) -o $@ $< $(DISKMODEL_CORE) -lcmocka -lm

build/tests/unit/%: tests/unit/test_%.c $(LIB_OBJECTS) Makefile build/flags build/objects
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CFLAGS) -Itests/unit -Ipg-patch/redoahead -MF $@.d $(LDFLAGS) -o $@ $< $(LIB_OBJECTS) -lcmocka $(LIB_LIBS)

build/tests/tools/%: tests/tools/%.c $(LIB_OBJECTS) Makefile build/flags build/objects
	$(call say,TOOL,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(DAEMON_CFLAGS) -MF $@.d $(LDFLAGS) -o $@ $< $(LIB_OBJECTS) -lseccomp $(LIB_LIBS)

# Fuzzed code is compiled once more, by clang and with its sanitizers.
build/fuzz/%.o: %.c Makefile build/flags
	$(call say,CLANG,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -c -o $@ $<

build/tests/fuzz/%: build/fuzz/tests/fuzz/%.o $(FUZZ_OBJECTS) build/objects
	$(call say,FUZZER,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -pthread -o $@ $(filter %.o,$^) $(LIB_LIBS)

-include build/bpf/trace.d build/bpf/position.d $(OBJECTS:.o=.d) $(DISKMODEL_OBJECTS:.o=.d) $(FUZZ_OBJECTS:.o=.d) $(UNIT_TESTS:=.d) $(TOOLS:=.d) \
	$(FUZZ_SOURCES:%.c=build/fuzz/%.d)
