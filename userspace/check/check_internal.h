/*
 * check_internal.h
 *		What the files of check/ share.
 */
#ifndef REDOAHEAD_CHECK_CHECK_INTERNAL_H
#define REDOAHEAD_CHECK_CHECK_INTERNAL_H

#include "check/check.h"
#include "check/needs.h"
#include "cluster/cluster.h"
#include "cluster/config.h"
#include "cluster/controlfile.h"
#include "cluster/startcommand.h"
#include "probe/refusal.h"

/* Room for a size as text, bytes. */
#define CHECK_SIZE_BYTES	32

/* Room for a path as a word of a shell, bytes. */
#define CHECK_WORD_BYTES	(4 * PATH_MAX + 3)

/* Room for the name of a user, and for a command as that user, bytes. */
#define CHECK_USER_BYTES	64
#define CHECK_SUDO_BYTES	(CHECK_USER_BYTES + 16)

/* What is known of the server's program. */
enum server_kind
{
	SERVER_UNKNOWN,				/* not found, or not readable */
	SERVER_STOCK,				/* cannot load the extension */
	SERVER_PATCHED				/* can */
};

/* What BPF may do with the rights that this program was started with. */
struct bpf_rights
{
	struct refusal_facts facts; /* what may prevent it */
	int			err;			/* what the kernel returned when it was tried, 0: it works */
	bool		tried;			/* it was */
};

struct check
{
	const struct check_options *options;
	struct needs needs;
	struct cluster cluster;
	char		pgdata[CHECK_WORD_BYTES];	/* its path, as a word of a shell */
	bool		owner;			/* this process runs as the owner of the data directory */
	char		as_owner[CHECK_SUDO_BYTES]; /* what a command begins with, so that root does it as
											 * the owner, who may put a link anywhere */
	bool		running;		/* a server runs on it */
	char		psql[CHECK_WORD_BYTES + 32];	/* command that connects to it; empty: it takes no
												 * connections */
	struct controlfile control; /* as far as it could be read */
	bool		has_control;	/* it could */
	struct startcommand start;	/* how the server was started last */
	char		program[PATH_MAX];	/* the server's program; empty: not found */
	char		version[64];	/* it has; empty: not known */
	enum server_kind kind;
	struct config config;		/* the settings */
	char		config_file[PATH_MAX];	/* postgresql.conf; empty: not found */
	struct bpf_rights bpf;
};

/* Each adds needs; in the order of the report. */
void		check__data_directory(struct check *check);
void		check__control_file(struct check *check);
void		check__tablespaces(struct check *check);
void		check__server(struct check *check);
void		check__configuration(struct check *check);
void		check__extension(struct check *check);
void		check__settings(struct check *check);
void		check__memory_settings(struct check *check);
void		check__wal(struct check *check);
void		check__uring(struct check *check);
void		check__page_cache(struct check *check);
void		check__memory(struct check *check);
void		check__open_files(struct check *check);
void		check__position(struct check *check);
void		check__trace(struct check *check);

/* Finds out what BPF may do; before rights are given up. */
void		check__try_bpf(struct check *check);

/* A size as text, in the largest unit of which it has one. */
void		check__size(char text[CHECK_SIZE_BYTES], uint64_t bytes);

/* What a command that does something as a user begins with. */
void		check__sudo(char sudo[CHECK_SUDO_BYTES], uid_t uid);

/* What a command that changes a file begins with: nothing, or as the owner if root does it. */
const char *check__as_owner(const struct check *check, const char *path);

/* A path as a word of a shell. */
void		check__word(char word[CHECK_WORD_BYTES], const char *path);

/* The remedy for a setting: what to type for this value. */
void		check__set(struct check *check, const char *name, const char *value, bool restart);

#endif							/* REDOAHEAD_CHECK_CHECK_INTERNAL_H */
