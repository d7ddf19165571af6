/*
 * refusal.c
 *		Why the kernel refuses the BPF programs, and the remedy.
 *
 * The kernel returns no more than EPERM; the possible reasons are looked up
 * elsewhere.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "probe/refusal.h"

/* Numbers of capabilities. */
#define SYS_ADMIN	21
#define PERFMON		38
#define BPF			39

/* Inode number of the initial PID namespace, PROC_PID_INIT_INO in the kernel. */
#define INITIAL_PID_NAMESPACE	0xEFFFFFFC

static bool
has_capability(uint64_t set, int capability)
{
	return (set >> capability & 1) != 0;
}

/* Look up what may prevent a trace of a data directory. */
void
refusal__collect(struct refusal_facts *facts, int dirfd)
{
	struct statfs fs;
	struct stat st;
	uint64_t	set = 0;
	char		line[256];
	FILE	   *file;

	*facts = (struct refusal_facts)
	{
		.has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0,
		.overlaid = fstatfs(dirfd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC,
		.pids_differ = stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != INITIAL_PID_NAMESPACE,
	};
	file = fopen("/proc/self/status", "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "CapEff:", 7) == 0)
			set = strtoull(line + 7, NULL, 16);
	if (file != NULL)
		fclose(file);
	facts->has_capabilities = has_capability(set, SYS_ADMIN) ||
		(has_capability(set, BPF) && has_capability(set, PERFMON));

	file = fopen("/sys/kernel/security/lockdown", "re");
	if (file != NULL && fgets(line, sizeof(line), file) != NULL)
		facts->confidential = strstr(line, "[confidentiality]") != NULL;
	if (file != NULL)
		fclose(file);
}

/* Would it fail for certain? */
bool
refusal__is_certain(const struct refusal_facts *facts)
{
	return !facts->has_btf || !facts->has_capabilities || facts->confidential ||
		facts->overlaid || facts->pids_differ;
}

/* Write the reason and the remedy; err is what the kernel returned, 0 if it was not tried. */
void
refusal__explain(const struct refusal_facts *facts, int err, char *text, size_t size)
{
	if (!facts->has_btf)
		snprintf(text, size, "the kernel has no BTF (/sys/kernel/btf/vmlinux); use one that is "
				 "built with CONFIG_DEBUG_INFO_BTF, as those of distributions are");
	else if (facts->confidential)
		snprintf(text, size, "lockdown=confidentiality forbids programs that read kernel memory; "
				 "boot with lockdown=integrity or without it");
	else if (!facts->has_capabilities)
		snprintf(text, size, "this process has neither CAP_BPF and CAP_PERFMON nor CAP_SYS_ADMIN; "
				 "run it as root, or with those and CAP_SYS_PTRACE");
	else if (facts->overlaid)
		snprintf(text, size, "the data directory is on overlayfs, where the kernel reads other files "
				 "than those that the server has open; put it on a volume");
	else if (facts->pids_differ)
		snprintf(text, size, "this process is in a PID namespace of its own, where processes have "
				 "other numbers than in the kernel's events; run it and the server on the host, or "
				 "in containers that share the host's PID namespace");
	else if (err == -EPERM || err == -EACCES)
		snprintf(text, size, "the kernel refuses BPF programs: %s; allow bpf(2) in the seccomp "
				 "filter of the container, and look for lockdown=confidentiality in the kernel's log",
				 strerror(-err));
	else
		snprintf(text, size, "the BPF programs cannot be attached: %s; --verbose shows "
				 "the kernel's messages", strerror(-err));
}
