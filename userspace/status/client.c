/*
 * client.c
 *		Reads the status document of a daemon from its socket, within a time and up to
 *		a size.
 *
 * What listens there may be slow, hostile, or something else.  Logs nothing, because a
 * full-screen view may be shown: the reason of a failure is returned.  values.c
 * examines what the document has.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "status/client.h"

/* Size of the buffer at first, bytes. */
#define FIRST_BYTES		16384

/* A document that is being read. */
struct reading
{
	const char *path;			/* of the socket */
	char	   *message;		/* receives the reason of a failure, CLIENT_MESSAGE_BYTES */
	uint64_t	end_us;			/* give up at this time, us */
	char	   *data;			/* what has come, with room for a byte behind it */
	size_t		length;			/* of that, bytes */
	size_t		size;			/* of the buffer, bytes */
};

static int __attribute__((format(printf, 3, 4)))
fail(struct reading *reading, int err, const char *format,...)
{
	va_list		args;
	int			n = snprintf(reading->message, CLIENT_MESSAGE_BYTES, "status socket \"%s\": ",
							 reading->path);

	if (n < 0 || n >= CLIENT_MESSAGE_BYTES)
		return err;
	va_start(args, format);
	vsnprintf(reading->message + n, (size_t) (CLIENT_MESSAGE_BYTES - n), format, args);
	va_end(args);
	return err;
}

/* Fail with the reason why the socket cannot be connected to. */
static int
fail_to_connect(struct reading *reading, int err)
{
	switch (err)
	{
		case ENOENT:
		case ENOTDIR:
			return fail(reading, -err, "no daemon listens there: %s; start redoahead serve or "
						"redoahead follow, or give its socket with --socket", strerror(err));
		case ECONNREFUSED:
			return fail(reading, -err, "no daemon listens there any more: %s; start redoahead "
						"serve or redoahead follow", strerror(err));
		case EACCES:
		case EPERM:
			return fail(reading, -err, "%s; run this as the owner of the data directory, or as a "
						"member of the daemon's --status-group", strerror(err));
		case EPROTOTYPE:
			return fail(reading, -err, "not a socket for status: %s; give the one of "
						"--status-socket", strerror(err));
		case EAGAIN:
			return fail(reading, -ETIMEDOUT, "the daemon takes no connection; is it stopped?");
		default:
			return fail(reading, -err, "cannot be connected to: %s; check the path", strerror(err));
	}
}

/*
 * The address of a socket.  One that is too long leads through a descriptor of its
 * directory, which is returned in *directory.
 */
static int
make_address(struct sockaddr_un *address, const char *path, int *directory)
{
	const char *name = strrchr(path, '/');
	char		parent[PATH_MAX];

	address->sun_family = AF_UNIX;
	if (strlen(path) < sizeof(address->sun_path))
	{
		strcpy(address->sun_path, path);
		return 0;
	}
	if (name == NULL || (size_t) (name - path) >= sizeof(parent) || strlen(name + 1) > 64)
		return -ENAMETOOLONG;
	snprintf(parent, sizeof(parent), "%.*s/", (int) (name - path), path);
	*directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*directory < 0)
		return -errno;
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%.64s", *directory,
			 name + 1);
	return 0;
}

/* Connect; returns the descriptor.  The kernel bounds the time of connect(2) by SO_SNDTIMEO. */
static int
connect_to(struct reading *reading, unsigned timeout_ms)
{
	struct timeval timeout = {.tv_sec = timeout_ms / 1000,.tv_usec = timeout_ms % 1000 * 1000};
	struct sockaddr_un address = {0};
	int			directory = -1;
	int			fd = -1;
	int			err = make_address(&address, reading->path, &directory);

	if (err == 0)
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (err == 0 && (fd < 0 ||
					 setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
					 connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0))
		err = -errno;
	if (directory >= 0)
		close(directory);
	if (err == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return fail_to_connect(reading, -err);
}

/* Make room for more; -EFBIG if that would be more than a document may have. */
static int
make_room(struct reading *reading)
{
	size_t		size = reading->size == 0 ? FIRST_BYTES : 2 * reading->size;
	char	   *data;

	if (reading->length + 1 < reading->size)
		return 0;
	if (reading->length >= CLIENT_MAX_BYTES)
		return fail(reading, -EFBIG, "sends more than %d bytes; is this the socket of a daemon?",
					CLIENT_MAX_BYTES);
	data = realloc(reading->data, size);
	if (data == NULL)
		return fail(reading, -ENOMEM, "%s", strerror(ENOMEM));
	reading->data = data;
	reading->size = size;
	return 0;
}

/* Read up to the end of the connection. */
static int
read_all(struct reading *reading, int fd)
{
	for (;;)
	{
		struct pollfd ready = {.fd = fd,.events = POLLIN};
		uint64_t	now_us = clock__now_us();
		ssize_t		n;
		int			err = make_room(reading);

		if (err < 0)
			return err;
		if (now_us >= reading->end_us ||
			poll(&ready, 1, (int) ((reading->end_us - now_us + 999) / 1000)) == 0)
			return fail(reading, -ETIMEDOUT, "the document is not complete in time, after %zu "
						"bytes; is the daemon stopped?", reading->length);
		n = recv(fd, reading->data + reading->length, reading->size - reading->length - 1,
				 MSG_DONTWAIT);
		if (n == 0)
			return 0;
		if (n > 0)
			reading->length += (size_t) n;
		else if (errno != EAGAIN && errno != EINTR)
			return fail(reading, -errno, "the daemon ended the connection: %s; try again",
						strerror(errno));
	}
}

/* Parse what has come, which must be one object and nothing else. */
static int
parse(struct reading *reading, struct json_object **json)
{
	struct json_tokener *tokener;
	struct json_object *object;
	enum json_tokener_error error;
	size_t		end;

	if (reading->length == 0)
		return fail(reading, -ENODATA, "the daemon sent nothing; try again");
	tokener = json_tokener_new();
	if (tokener == NULL)
		return fail(reading, -ENOMEM, "%s", strerror(ENOMEM));
	object = json_tokener_parse_ex(tokener, reading->data, (int) reading->length);
	error = json_tokener_get_error(tokener);
	end = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);
	while (end < reading->length && strchr(" \t\r\n", reading->data[end]) != NULL &&
		   reading->data[end] != '\0')
		end++;
	if (error == json_tokener_success && end == reading->length &&
		json_object_is_type(object, json_type_object))
	{
		*json = object;
		return 0;
	}
	json_object_put(object);
	if (error == json_tokener_continue)
		return fail(reading, -ENODATA, "the document ends after %zu bytes and is not complete; "
					"try again", reading->length);
	return fail(reading, -EBADMSG, "sends no status document: %s; is this the socket of a "
				"daemon?", error == json_tokener_success ? "not one object" :
				json_tokener_error_desc(error));
}

/*
 * Read the document; the caller releases it with json_object_put().  Returns 0, or -errno
 * with the reason in the message.
 */
int
client__read(const char *path, unsigned timeout_ms, struct json_object **json,
			 char message[CLIENT_MESSAGE_BYTES])
{
	struct reading reading = {
		.path = path,.message = message,
		.end_us = clock__now_us() + (uint64_t) timeout_ms * 1000
	};
	int			fd = connect_to(&reading, timeout_ms);
	int			err;

	if (fd < 0)
		return fd;
	err = read_all(&reading, fd);
	close(fd);
	if (err == 0)
		err = parse(&reading, json);
	free(reading.data);
	return err;
}
