/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels in processes of Linux: with another partition, by the PCI function that the hypervisor
 * shows for a channel, or with another process, by a file that both map. While both sides execute,
 * no message costs a system call.
 *
 * An endpoint belongs to one thread at a time. A function with the argument `problem`
 * (LINUX_PROBLEM_BYTES) writes one line there, without its newline, if it returns false.
 */
#ifndef CHANNEL_LINUX_H
#define CHANNEL_LINUX_H

#include "channel/broadcast.h"
#include "channel/value.h"
#include "channel/wait.h"
#include <stddef.h>

/* The kinds of channels (docs/systems.md). */
enum linux_kind {
    LINUX_MESSAGES, /* connection.h */
    LINUX_VALUE,    /* value.h */
    LINUX_ONE_WAY,  /* broadcast.h: end 0 sends, end 1 receives */
};

#define LINUX_PROBLEM_BYTES 256u
#define LINUX_WAITS_MAX     16u

struct linux_endpoint {
    enum linux_kind kind;
    /* Of the kind, from linux_begin() on. */
    struct channel channel;
    struct value_writer writer;
    struct value_reader reader;
    struct broadcast_sender sender;     /* at end 0 */
    struct broadcast_receiver receiver; /* at end 1 */

    struct channel_memory memory; /* a section that does not exist is NULL */
    struct channel_port port;
    unsigned end; /* 0 or 1 */
    bool is_used; /* linux_begin() was called */

    /* The doorbell: readable after it rang. */
    int bell;

    /* Only for a PCI function: its configuration space and its registers. */
    int config;
    volatile uint32_t *registers;

    /* Only for a file: the peer's doorbell. */
    int peer_bell;

    void *region; /* what is mapped */
    size_t region_bytes;
};

/* Maps a channel with another partition, and finds its kind. `name`: the function's address, such
 * as "0000:00:1f.0", or the channel's name in the system file. The function must be bound to the
 * driver uio_pci_generic. If it has no BAR 2, Linux must have a DAX device with the memory. The
 * endpoint must stay at its address until linux_close(). */
bool linux_map_function(struct linux_endpoint *endpoint, const char *name, char *problem);

/* Maps a channel with another process. Creates the file, and the doorbells beside it (PATH.0 and
 * PATH.1), if they do not exist. `ring_bytes`: as for channel_open(). Both processes choose the
 * same kind. */
bool linux_map_file(struct linux_endpoint *endpoint, const char *path, unsigned end,
                    enum linux_kind kind, uint64_t ring_bytes, char *problem);

/* Begins to use the mapped endpoint: from now on the field of its kind can be used. A channel of
 * messages begins a life. A receiver of a one-way channel begins with the next message. */
void linux_begin(struct linux_endpoint *endpoint);

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

/* Ends the use of the endpoint, as linux_end() does, and unmaps the memory. */
void linux_close(struct linux_endpoint *endpoint);

/* The clock of deadlines: nanoseconds of CLOCK_MONOTONIC. */
uint64_t linux_now(void);

/* A wait until a file descriptor is readable or at its end. */
struct channel_wait linux_wait_for_input(int file);

/* As channel_wait_any(), for `count` waits, LINUX_WAITS_MAX at most: waits[i] is for a channel of
 * endpoints[i]; or endpoints[i] is NULL, and waits[i] of linux_wait_for_input(). */
size_t linux_wait_any(struct linux_endpoint *const *endpoints, const struct channel_wait *waits,
                      size_t count, uint64_t deadline);

/* For event loops: asks the peer to ring the doorbell at its next message or value. Returns false
 * if there is one already, or the state has changed. Otherwise `bell` will be readable. Call it
 * again before each sleep. The receiver of a one-way channel can't ask: its sender has to ring the
 * doorbell for each message. Not for the sender of one. */
bool linux_arm(struct linux_endpoint *endpoint);

/* Waits until the endpoint has a message or its state changes. Returns false if the deadline
 * passed. */
bool linux_wait_for_message(struct linux_endpoint *endpoint, uint64_t deadline);

/* Waits until there is a newer value than the one that was read last, or messages of a one-way
 * channel. Returns false if the deadline passed. */
bool linux_wait_for_value(struct linux_endpoint *endpoint, uint64_t deadline);
bool linux_wait_for_broadcast(struct linux_endpoint *endpoint, uint64_t deadline);

/* Waits until there is space for a message of `length` bytes, or the state changes. Returns false
 * if the deadline passed. */
bool linux_wait_for_space(struct linux_endpoint *endpoint, uint64_t length, uint64_t deadline);

#endif
