/*
 * processes.h
 *		The processes of a cluster.
 */
#ifndef REDOAHEAD_CLUSTER_PROCESSES_H
#define REDOAHEAD_CLUSTER_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/cluster.h"

/* How to reach a server. */
struct processes_server
{
	int			port;			/* number that is part of the socket's name */
	char		socket_directory[PATH_MAX]; /* where its socket is, absolute */
	char		psql[PATH_MAX]; /* the program that belongs to it */
};

size_t		processes__read(pid_t pid, const char *name, char *text, size_t size);
void		processes__each(bool (*visit) (pid_t pid, void *argument), void *argument);
bool		processes__is_of_owner(pid_t pid, const struct cluster *cluster);
pid_t		processes__postmaster(const struct cluster *cluster);
pid_t		processes__hidden(const struct cluster *cluster);
const char *processes__activity(const char *title, const char *name);
pid_t		processes__startup(const struct cluster *cluster, pid_t postmaster);

/* Takes a process's title and how much it has read from devices, bytes. */
typedef void (*processes_visitor) (const char *title, uint64_t read_bytes, void *argument);

int			processes__children(const struct cluster *cluster, processes_visitor visit,
								void *argument);
int			processes__server(const struct cluster *cluster, struct processes_server *server);
bool		processes__has_child(pid_t pid);
int			processes__maps(pid_t pid, const char *text);
uint64_t	processes__start_ticks(pid_t pid);
int			processes__age_us(pid_t pid, uint64_t *age_us);

#endif							/* REDOAHEAD_CLUSTER_PROCESSES_H */
