/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP connections of a server that survive a restart of their partition (docs/recovery.md).
 *
 * A service keeps as many connections as it asks for, if the partition has kept memory
 * (docs/kept.md). A kept connection acknowledges nothing that is not in kept memory, and sends
 * nothing that is not there. So the next life continues it, and the peer notices a pause. Further
 * connections of the service are ordinary ones: the same calls, but a restart ends them.
 *
 * connection_commit() makes one unit of the bytes read and the bytes written since the last call.
 * Written bytes are held back until then. After a restart, bytes that were read since the last
 * commit are delivered again, and bytes that were written since are dropped. So a program that
 * commits once for each request neither loses a request nor answers it twice.
 *
 * lwIP calls the operations with its core lock held, in any thread. They must not block. All
 * functions are called with the core lock held unless said otherwise.
 */
#ifndef KERNEL_CONNECTION_H
#define KERNEL_CONNECTION_H

#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest state of a program that a commit keeps. */
#define CONNECTION_STATE_MAX 32u

/* Most bytes that can be written and not yet acknowledged, and bytes received and not committed. */
#define CONNECTION_SEND_BYTES    32768u
#define CONNECTION_RECEIVE_BYTES 16384u

struct connection; /* opaque; valid from opened() until gone() */

struct connection_operations {
    /* A connection was opened, or restored: `state` has the `bytes` of the last commit, 0 if there
     * was none. The state was read from kept memory: the program checks it like a message from
     * another partition. The program may call connection_abort() here if it has no memory. */
    void (*opened)(struct connection *connection, const void *state, size_t bytes);
    /* There is something new: bytes to read, the end of the peer's bytes, or room to write for
     * which the program waits (connection_await_room()). */
    void (*ready)(struct connection *connection);
    /* The connection has ended, and may not be used any more. */
    void (*gone)(struct connection *connection);
};

/* A server. Must stay valid for ever. */
struct connection_service {
    uint16_t port;
    uint16_t kept_max; /* connections to keep; each takes connection_kept_bytes() */
    /* A connection without progress is closed after this time, and reset after it once more. The
     * program makes progress when it reads bytes, and the peer when it acknowledges some. */
    uint16_t idle_seconds;
    const struct connection_operations *operations;
};

struct connection_statistics {
    uint32_t slots;    /* connections that can be kept */
    uint32_t kept;     /* connections that are kept now */
    uint32_t restored; /* connections that this life found and continued */
    uint32_t dropped;  /* connections that this life found and could not continue */
    uint64_t ordinary; /* connections that found no place in kept memory */
};

/*
 * Restores the service's connections and listens on its port, for IPv4 and IPv6. Call it once for
 * each service, in the same order in each life (kernel/kept.h), in the function that
 * network_at_start() names: later, lwIP would already have reset the connections. Prints a line if
 * fewer connections than kept_max can be kept, if some were restored, and if some were dropped.
 * Returns RESULT_OK, RESULT_NO_MEMORY or RESULT_BUSY (the port is in use). Thread context, without
 * the core lock.
 */
enum result connection_serve(const struct connection_service *service);

/* Returns the size of kept memory that a connection takes. Any context. */
size_t connection_kept_bytes(void);

/* Set and return a pointer of the program's own. */
void connection_set_user(struct connection *connection, void *user);
void *connection_user(const struct connection *connection);

/* Copies up to `capacity` bytes that were received and not yet read, from the first one on. Returns
 * their number. The bytes remain unread. */
size_t connection_peek(const struct connection *connection, void *buffer, size_t capacity);
/* Marks `bytes` as read; at most as many as there are. */
void connection_skip(struct connection *connection, size_t bytes);
/* Returns true if the peer sends nothing after the bytes that are there now. */
bool connection_has_ended(const struct connection *connection);

/* Returns the number of bytes that connection_write() accepts now, if memory suffices. */
size_t connection_room(const struct connection *connection);
/* Copies all of `data`, to be sent after the next commit. Returns false if there is no room for all
 * of it: nothing was written then. */
bool connection_write(struct connection *connection, const void *data, size_t bytes);
/* Makes ready() be called once when there may be more room. */
void connection_await_room(struct connection *connection);
/* The connection is closed after all written bytes, with the next commit. Bytes that the peer sends
 * afterwards are discarded. */
void connection_close(struct connection *connection);

/*
 * Makes one unit of all that was read and written since the last commit, and keeps it together with
 * `bytes` of `state`, at most CONNECTION_STATE_MAX. When it returns, a restart continues here.
 */
void connection_commit(struct connection *connection, const void *state, size_t bytes);

/* Ends the connection with a reset; gone() is called before the function returns. */
void connection_abort(struct connection *connection);

/* Returns true if the connection survives a restart. */
bool connection_is_kept(const struct connection *connection);

/* Sums of all services. */
void connection_statistics(struct connection_statistics *statistics);

#endif
