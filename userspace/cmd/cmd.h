/*
 * cmd.h
 *		Subcommands of the program.
 */
#ifndef REDOAHEAD_CMD_CMD_H
#define REDOAHEAD_CMD_CMD_H

/* Exit statuses of every subcommand. */
#define EXIT_OK			0		/* success */
#define EXIT_FAILED		1		/* failure */
#define EXIT_USAGE		2		/* wrong usage */

/*
 * No command is given, or it is not known: what a shell returns for a command that it does
 * not find.  In restore_command, a status up to 125 means that the archive does not have the
 * file, and ends recovery there.
 */
#define EXIT_NO_COMMAND	127

/* Each takes its own arguments, argv[0] being "redoahead NAME". */
int			cmd__check(int argc, char **argv);
int			cmd__follow(int argc, char **argv);
int			cmd__lesslog(int argc, char **argv);
int			cmd__prefault(int argc, char **argv);
int			cmd__restore(int argc, char **argv);
int			cmd__serve(int argc, char **argv);
int			cmd__status(int argc, char **argv);
int			cmd__trace(int argc, char **argv);

#endif							/* REDOAHEAD_CMD_CMD_H */
