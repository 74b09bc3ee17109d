/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels to other partitions of the separation kernel, for the system in a partition, as its
 * devicetree describes them: where their memory is, the calls that notify the other end, and waits
 * for its notifications. Of the content of that memory only the channel library knows, whose port
 * (channel/port.h) these functions are.
 *
 * The functions are the same in each system, except for the type guest_status and its values, and
 * the clock of deadlines. Programs include the header of their system, which says both:
 * kernel/partition_channel.h, or channel/rtems.h.
 */
#ifndef CHANNEL_GUEST_H
#define CHANNEL_GUEST_H

#include "channel/broadcast.h"
#include "channel/connection.h"
#include "channel/guest_types.h"
#include "channel/linkage.h"
#include "channel/value.h"
#include "channel/wait.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CHANNEL_C_BEGIN

#define PARTITION_CHANNEL_NAME_BYTES 16u

struct channel_states; /* arch/channel.h */
struct partition_waiter;

struct partition_channel {
    char name[PARTITION_CHANNEL_NAME_BYTES];
    uint32_t index;        /* in the system: names the channel in calls */
    uint32_t end;          /* of this partition: 0 or 1 */
    bool has_values;       /* only the newest value is of interest, not each message */
    bool is_one_way;       /* from end 0 to end 1 */
    bool is_uncached;      /* both ends access it without caches */
    uint64_t common_bytes; /* of the section that both ends can write, and that is not mapped */
    uint64_t section_bytes;
    const struct channel_states *states;
    void *own;        /* section that this end writes; NULL: end 1 of a one-way channel */
    const void *peer; /* section that the other end writes; NULL: end 0 of a one-way channel */
    /* Private: */
    struct guest_interrupt interrupt;
    bool has_interrupt;
    bool is_armed; /* the interrupt is unmasked; for partition_channel_is_armed() */
    struct partition_waiter *waiter;
    struct partition_channel *next; /* of the same waiter */
};

/* A thread that waits for the doorbells of its channels. Their interrupts are masked except from
 * partition_waiter_prepare() to the next doorbell, so notifications that nobody waits for cost this
 * partition nothing. */
struct partition_waiter {
    struct guest_signal rung;
    struct partition_channel *channels;
};

/* Finds the channel with this name in the devicetree (NULL: the first one), and maps its memory.
 * Returns GUEST_OK, GUEST_NO_DEVICETREE, GUEST_NOT_FOUND (there is no such node; there is none
 * either if the keys `pci` or `dax` of the channel name this partition), GUEST_MALFORMED (the node
 * is), or what the system returns for a mapping that fails. Thread context. */
guest_status partition_channel_open(struct partition_channel *channel, const char *name);

/* Begins a life of this end of a channel of messages, which uses `place` from then on, and shows
 * the other end that this one is present. Returns GUEST_OK, GUEST_OTHER_KIND if the channel is
 * one-way or has values, or GUEST_INVALID_SIZE if its section has a size that no ring has. Thread
 * context. */
guest_status partition_channel_begin(struct partition_channel *place, struct channel *channel);

/* Begin to use this end of a channel of another kind, and show the other end that this one is
 * present (except from a receiving end, which shows nothing): a channel of values, and the sending
 * or the receiving end of a one-way channel (`with_newest`: see broadcast_receiver_begin()). If
 * value_write_end() returns true, call partition_channel_notify(). The receiver of a one-way
 * channel can't say that it sleeps: a sender that wants to wake it calls partition_channel_notify()
 * after each message. Return GUEST_OK, GUEST_OTHER_KIND if the channel or the end is of another
 * kind, or GUEST_INVALID_SIZE if its section has a size that no ring has. Thread context. */
guest_status partition_channel_begin_values(const struct partition_channel *place,
                                            struct value_writer *writer,
                                            struct value_reader *reader);
guest_status partition_channel_begin_sender(const struct partition_channel *place,
                                            struct broadcast_sender *sender);
guest_status partition_channel_begin_receiver(const struct partition_channel *place,
                                              struct broadcast_receiver *receiver,
                                              bool with_newest);

/* Rings the other end's doorbell. `channel`: a struct partition_channel, so that this can be the
 * `notify` of a struct channel_port. Any context. */
void partition_channel_notify(void *channel);

/* Sets the state of this end, after all that was written before, and rings the other end's
 * doorbell. 0: absent. Any context. */
void partition_channel_set_state(const struct partition_channel *channel, uint32_t state);

/* Returns the state of the other end, with acquire order. Any context. */
uint32_t partition_channel_peer_state(const struct partition_channel *channel);

void partition_waiter_init(struct partition_waiter *waiter);

/* Adds a channel, which has no waiter yet. Both must stay valid. Returns GUEST_OK,
 * GUEST_NO_INTERRUPT if the channel has no interrupt, or what the system returns for a handler that
 * it does not install. Thread context. */
guest_status partition_waiter_add(struct partition_waiter *waiter,
                                  struct partition_channel *channel);

/* Returns what the functions of channel/wait.h and channel/call.h need to sleep: a sleeper of the
 * calling thread. */
struct channel_sleeper partition_waiter_sleeper(struct partition_waiter *waiter);

/* `prepare` and `sleep` of a struct channel_sleeper. `waiter`: a struct partition_waiter, of the
 * calling thread. After partition_waiter_prepare() a doorbell of any of the channels ends the next
 * partition_waiter_sleep(), which may also end earlier; it returns false if the deadline passed.
 * Look at the channels between the two. Thread context. */
void partition_waiter_prepare(void *waiter);
bool partition_waiter_sleep(void *waiter, uint64_t deadline);

/* Returns true if the interrupt of the doorbell is unmasked: no doorbell rang since
 * partition_waiter_prepare(). Any context. */
bool partition_channel_is_armed(const struct partition_channel *channel);

CHANNEL_C_END

#endif
