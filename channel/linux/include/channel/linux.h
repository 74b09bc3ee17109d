/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels in processes of Linux: with another partition, by the PCI function that the hypervisor
 * shows for a channel, or with another process, by a file that both map. While both sides execute,
 * no message costs a system call.
 *
 * An endpoint belongs to one thread at a time. A function with the argument `problem`
 * (LINUX_PROBLEM_BYTES) writes one line there, without its newline, if it returns false or NULL.
 *
 * One endpoint at a time uses an end of a channel: linux_begin() locks the end, and the kernel
 * frees the lock when the process ends in any way. An endpoint belongs to the process that mapped
 * it. A child of fork() has a copy, for which it may call linux_end() and linux_close() only: they
 * change nothing for the parent, its lock or its peer. A child that needs a channel maps it itself.
 * If the parent ends without linux_close(), the end stays locked until its children that have such
 * a copy end, too, close it, or execute another program.
 *
 * The lock is that of the channel's file, or of the function's device /dev/uioN, which containers
 * share. It is advisory: it does not keep out a program that maps the memory without this library.
 * (A program with its own code for a file locks the byte of its end's number, as F_OFD_SETLK does:
 * otherwise its peer takes it for dead.)
 *
 * At a file the lock also tells the peer's death: a thread that waits notices within
 * LINUX_DEATH_NS that the process that its endpoint is connected with has ended without
 * linux_end(). A thread that polls, or sleeps in an event loop, calls linux_look_for_peer() or
 * linux_arm() from time to time: a death rings no doorbell. At a PCI function the state table tells
 * the death of the partition, but not that of a process there.
 *
 * Processes that share a file trust each other with the file, though not with its content: one
 * that makes it shorter ends the others by SIGBUS. Put the file where only they can write to it.
 */
#ifndef CHANNEL_LINUX_H
#define CHANNEL_LINUX_H

#include "channel/broadcast.h"
#include "channel/linkage.h"
#include "channel/value.h"
#include "channel/wait.h"
#include <stddef.h>

CHANNEL_C_BEGIN

/* The kinds of channels (docs/channel-keys.md). */
enum linux_kind {
    LINUX_MESSAGES, /* connection.h */
    LINUX_VALUE,    /* value.h */
    LINUX_ONE_WAY,  /* broadcast.h: end 0 sends, end 1 receives */
};

#define LINUX_PROBLEM_BYTES 256u
#define LINUX_NAME_BYTES    128u
#define LINUX_POLLED_WAITS  64u
#define LINUX_DEATH_NS      UINT64_C(200000000)

/* One end of a channel, in this process. Its members are private. */
struct linux_endpoint;

/* Maps a channel with another partition, and finds its kind. `name`: the function's address, such
 * as "0000:00:1f.0", or the channel's name in the system file. The function must be bound to the
 * driver uio_pci_generic. If it has no BAR 2, Linux must have a DAX device with the memory. The
 * process needs the right to read and write the files of the function (docs/channels.md), unless
 * another program has lent it the channel by this name (linux_lend_function()). Returns the
 * endpoint, which exists until linux_close(). NULL with a problem if there is no such channel, or a
 * part of it can't be opened. */
struct linux_endpoint *linux_map_function(const char *name, char *problem);

/* The open files of a channel with another partition. A program with the right to open them can
 * hand them to a program without it: by inheritance, or by SCM_RIGHTS in a message of a Unix
 * socket, with the numbers. */
struct linux_function {
    int config;    /* configuration space */
    int interrupt; /* /dev/uioN */
    int registers; /* BAR 0 */
    int memory;    /* BAR 2, or a DAX device */
    uint64_t memory_offset;
    uint64_t common_bytes; /* of the common section, which the library does not use */
    uint64_t ring_bytes;
    enum linux_kind kind;
    uint8_t is_mapped; /* private: an endpoint has the files. Begin with 0 */
};

/* Opens the files of a channel, for linux_map_open_function() in this process or another one.
 * `name`: as for linux_map_function(). Returns false with a problem. */
bool linux_open_function(const char *name, struct linux_function *function, char *problem);

void linux_close_function(const struct linux_function *function);

/* Maps a channel whose files are open, and needs no file in sysfs or /dev. `name`: for problems.
 * `files` and the open files have to stay as they are until linux_close(), which does not close
 * them. One endpoint at a time has them, of all processes. Returns NULL with a problem. */
struct linux_endpoint *linux_map_open_function(const char *name, struct linux_function *files,
                                               char *problem);

/* Lends a channel to the program that this process executes next (execve()): its files stay open
 * there, and linux_map_function() finds them by `name` in the environment variable
 * BULKHEAD_CHANNELS. Returns false with a problem. */
bool linux_lend_function(const char *name, const struct linux_function *function, char *problem);

/* Maps a channel with another process. Creates the file, and the doorbells beside it (PATH.0 and
 * PATH.1), if they do not exist: for its user, and for the group of the folder if that has the
 * set-group-ID bit, so that another user may have the other end. `end`: 0 or 1. `ring_bytes`: as
 * for channel_open(). Both processes choose the same kind. Returns the endpoint, which exists until
 * linux_close(). NULL with a problem if the size is invalid, a file can't be opened or is another
 * one, or the file system is full. */
struct linux_endpoint *linux_map_file(const char *path, unsigned end, enum linux_kind kind,
                                      uint64_t ring_bytes, char *problem);

/* Does the same with a file that another process has created, and creates none. */
struct linux_endpoint *linux_map_existing_file(const char *path, unsigned end, enum linux_kind kind,
                                               uint64_t ring_bytes, char *problem);

/* Return properties of a mapped endpoint: the kind of its channel, its end (0 or 1), the bytes of a
 * ring, and its doorbell for event loops, a file descriptor that is readable after it rang
 * (linux_arm()). */
enum linux_kind linux_endpoint_kind(const struct linux_endpoint *endpoint);
unsigned linux_endpoint_end(const struct linux_endpoint *endpoint);
uint64_t linux_endpoint_ring_bytes(const struct linux_endpoint *endpoint);
int linux_endpoint_bell(const struct linux_endpoint *endpoint);

/* Locks this end of the channel until linux_close(), and begins to use the mapped endpoint: from
 * now on the functions below return the objects of its kind. A channel of messages begins a life. A
 * receiver of a one-way channel begins with the next message. Returns false if another endpoint,
 * also one of this process, uses the end, or if the endpoint was used before, or belongs to another
 * process; linux_close() is then still needed. Before it is called,
 * nothing has been written to the channel: an endpoint that is only mapped can show the counters of
 * ends that others use. */
bool linux_begin(struct linux_endpoint *endpoint, char *problem);

/* Returns true if the endpoint belongs to this process: a parent has not mapped it. */
bool linux_is_own(const struct linux_endpoint *endpoint);

/* Return the endpoint's object of the library, for the functions of connection.h, value.h and
 * broadcast.h: the channel of LINUX_MESSAGES, the writer and the reader of LINUX_VALUE, and of
 * LINUX_ONE_WAY the sender at end 0 and the receiver at end 1. It is valid from linux_begin() until
 * linux_close(). NULL if the endpoint has another kind or end. */
struct channel *linux_channel(struct linux_endpoint *endpoint);
struct value_writer *linux_value_writer(struct linux_endpoint *endpoint);
struct value_reader *linux_value_reader(struct linux_endpoint *endpoint);
struct broadcast_sender *linux_broadcast_sender(struct linux_endpoint *endpoint);
struct broadcast_receiver *linux_broadcast_receiver(struct linux_endpoint *endpoint);

/* Rings the peer's doorbell. Call it after broadcast_send_end(), and after value_write_end() if
 * that returned true: they do not ring it by themselves. Not at the receiver of a one-way channel.
 */
void linux_notify(const struct linux_endpoint *endpoint);

/* Returns the control page of an end, for its counters. NULL: it has none, as the receiver of a
 * one-way channel. `end`: 0 or 1. */
const struct channel_control *linux_control(const struct linux_endpoint *endpoint, unsigned end);

/* Ends the use of the endpoint, so that the peer notices it. The memory stays mapped, and no other
 * function may be called after it but linux_close(). Safe in a signal handler that interrupts the
 * endpoint's thread after linux_begin() was called. */
void linux_end(struct linux_endpoint *endpoint);

/* Ends the use of the endpoint, as linux_end() does, unmaps the memory, unlocks the end and frees
 * the endpoint. */
void linux_close(struct linux_endpoint *endpoint);

/* Looks whether the process at the other end of a file still has its lock. Its death then ends the
 * life, as linux_end() does. A call costs a system call at most ten times in a second. No effect at
 * a PCI function, or if no peer is connected. */
void linux_look_for_peer(struct linux_endpoint *endpoint);

/* The clock of deadlines: nanoseconds of CLOCK_MONOTONIC. */
uint64_t linux_now(void);

/* A wait until a file descriptor is readable or at its end. */
struct channel_wait linux_wait_for_input(int file);

/* As channel_wait_any(): waits[i] is for a channel of endpoints[i]; or endpoints[i] is NULL, and
 * waits[i] of linux_wait_for_input(). Returns the first one that is over, or `count` if the
 * deadline passed. The doorbells and files of the first LINUX_POLLED_WAITS waits end the sleep at
 * once. If there are more, it looks at all of them 100 times a second. */
size_t linux_wait_any(struct linux_endpoint *const *endpoints, const struct channel_wait *waits,
                      size_t count, uint64_t deadline);

/* Returns what channel_wait_any() and call.h need to sleep: a sleeper of the endpoint's thread, for
 * waits of this endpoint alone. Deadlines are values of linux_now(). */
struct channel_sleeper linux_sleeper(struct linux_endpoint *endpoint);

/* For event loops: asks the peer to ring the doorbell at its next message or value. Returns false
 * if there is one already, the state has changed, or none can come (wait.h). Otherwise the doorbell
 * will be readable, also if a call meanwhile waits for something else at this endpoint and hears
 * it. It may be readable earlier. Call the function again before each sleep, and sleep no longer
 * than the death of a process at the other end of a file may remain unnoticed: it makes the
 * doorbell not readable. The receiver of a one-way channel can't ask: its sender has to ring the
 * doorbell for each message. Not for the sender of one. */
bool linux_arm(struct linux_endpoint *endpoint);

/* Does the same, and asks for the doorbell also when there is space for a message of `length`
 * bytes, up to channel_content_max(). Returns false if there is space. It takes the place of
 * linux_arm(). For channels of messages. */
bool linux_arm_with_space(struct linux_endpoint *endpoint, uint64_t length);

/* As linux_arm(), but asks for the doorbell only when there is space. */
bool linux_arm_for_space(struct linux_endpoint *endpoint, uint64_t length);

/*
 * A wait in three steps, for several threads that use an endpoint under a lock of the program, such
 * as one that receives and one that sends. The first and the last step need the lock. The second
 * one must not have it, and may be in progress in several threads at once.
 *
 *     if (linux_sleep_begin(endpoint, &wait, flags of the other waits in progress)) {
 *         (unlock)
 *         linux_sleep(endpoint, wake, until);
 *         (lock)
 *         if (linux_sleep_end(endpoint, flags of the other waits in progress)) {
 *             (make `wake` of each other thread readable)
 *         }
 *     }
 */

/* Asks the peer for the doorbell. Returns false if the wait is over. `others`: the `flags` of the
 * other waits in progress. */
bool linux_sleep_begin(struct linux_endpoint *endpoint, const struct channel_wait *wait,
                       uint64_t others);

/* Sleeps until the doorbell rings, the file descriptor `wake` is readable, a signal arrives or the
 * time passes, and no longer than the death of a process at the other end, or a message that rings
 * no doorbell, may remain unnoticed. Uses nothing that the endpoint's other functions change, but
 * linux_close(). */
void linux_sleep(const struct linux_endpoint *endpoint, int wake, uint64_t until);

/* Takes back what linux_sleep_begin() has asked for. Returns true if the doorbell rang: it rings
 * once for all threads, so each other one that sleeps must be woken, and look at its wait again. */
bool linux_sleep_end(struct linux_endpoint *endpoint, uint64_t others);

/* Waits until the endpoint has a message or its state changes. Returns at once in the states in
 * which none can come (wait.h). Returns false if the deadline passed. */
bool linux_wait_for_message(struct linux_endpoint *endpoint, uint64_t deadline);

/* Waits until there is a newer value than the one that was read last, or messages of a one-way
 * channel, or returns at once if the peer has violated the format. Returns false if the deadline
 * passed. */
bool linux_wait_for_value(struct linux_endpoint *endpoint, uint64_t deadline);
bool linux_wait_for_broadcast(struct linux_endpoint *endpoint, uint64_t deadline);

/* Waits until there is space for a message of `length` bytes, or the state changes. Returns at once
 * in the states in which nothing can be sent (wait.h). Returns false if the deadline passed. */
bool linux_wait_for_space(struct linux_endpoint *endpoint, uint64_t length, uint64_t deadline);

CHANNEL_C_END

#endif
