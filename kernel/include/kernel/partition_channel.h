/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels to other partitions of the separation kernel, as the devicetree describes them: where
 * their memory is, the calls that notify the other end, and waits for its notifications. What both
 * ends write to the memory is not the kernel's: the channel library has functions for it, whose
 * ports (channel/port.h) can be made of those below.
 */
#ifndef KERNEL_PARTITION_CHANNEL_H
#define KERNEL_PARTITION_CHANNEL_H

#include "kernel/result.h"
#include "kernel/sync.h"
#include <arch/channel.h>
#include <channel/broadcast.h>
#include <channel/connection.h>
#include <channel/value.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARTITION_CHANNEL_NAME_BYTES 16u

struct partition_waiter;

struct partition_channel {
    char name[PARTITION_CHANNEL_NAME_BYTES];
    uint32_t index;   /* in the system: names the channel in calls */
    uint32_t end;     /* of this partition: 0 or 1 */
    bool has_values;  /* only the newest value is of interest, not each message */
    bool is_one_way;  /* from end 0 to end 1 */
    bool is_uncached; /* both ends access it without caches */
    uint64_t section_bytes;
    const struct channel_states *states;
    void *own;        /* section that this end writes; NULL: end 1 of a one-way channel */
    const void *peer; /* section that the other end writes; NULL: end 0 of a one-way channel */
    /* Private: */
    uint32_t interrupt;
    bool has_interrupt;
    bool is_armed; /* the interrupt is unmasked */
    struct partition_waiter *waiter;
    struct partition_channel *next; /* of the same waiter */
};

/* A thread that waits for the doorbells of its channels. Their interrupts are masked except from
 * partition_waiter_prepare() to the next doorbell, so notifications that nobody waits for cost this
 * partition nothing. */
struct partition_waiter {
    struct semaphore rung;
    struct partition_channel *channels;
};

/* Finds the channel with this name in the devicetree (NULL: the first one), and maps its memory.
 * Returns RESULT_NOT_FOUND (there is no such node; there is none either if the keys `pci` or `dax`
 * of the channel name this partition), RESULT_INVALID (its node is malformed), or what
 * arch_mmu_map_memory() returns. Thread context. */
enum result partition_channel_open(struct partition_channel *channel, const char *name);

/* Begins a life of this end of a channel of messages, which uses `place` from then on, and shows
 * the other end that this one is present. Returns RESULT_UNSUPPORTED if the channel is one-way or
 * has values, and RESULT_INVALID if its section has a size that no ring has. Thread context. */
enum result partition_channel_begin(struct partition_channel *place, struct channel *channel);

/* Begin to use this end of a channel of another kind, and show the other end that this one is
 * present (except from a receiving end, which shows nothing): a channel of values, and the sending
 * or the receiving end of a one-way channel (`with_newest`: see broadcast_receiver_begin()). If
 * value_write_end() returns true, call partition_channel_notify(). The receiver of a one-way
 * channel can't say that it sleeps: a sender that wants to wake it calls partition_channel_notify()
 * after each message. Return RESULT_UNSUPPORTED if the channel or the end is of another kind, and
 * RESULT_INVALID if its section has a size that no ring has. Thread context. */
enum result partition_channel_begin_values(const struct partition_channel *place,
                                           struct value_writer *writer,
                                           struct value_reader *reader);
enum result partition_channel_begin_sender(const struct partition_channel *place,
                                           struct broadcast_sender *sender);
enum result partition_channel_begin_receiver(const struct partition_channel *place,
                                             struct broadcast_receiver *receiver, bool with_newest);

/* Rings the other end's doorbell. `channel`: a struct partition_channel, so that this can be the
 * `notify` of a struct channel_port. Any context. */
void partition_channel_notify(void *channel);

/* Sets the state of this end, after all that was written before, and rings the other end's
 * doorbell. 0: absent. Any context. */
void partition_channel_set_state(const struct partition_channel *channel, uint32_t state);

/* Returns the state of the other end, with acquire order. Any context. */
uint32_t partition_channel_peer_state(const struct partition_channel *channel);

void partition_waiter_init(struct partition_waiter *waiter);

/* Adds a channel, which has no waiter yet. Both must stay valid. Results as interrupt_attach(), and
 * RESULT_UNSUPPORTED if the channel has no interrupt. Thread context. */
enum result partition_waiter_add(struct partition_waiter *waiter,
                                 struct partition_channel *channel);

/* Returns what the functions of channel/wait.h and channel/call.h need to sleep: a sleeper of the
 * calling thread. */
struct channel_sleeper partition_waiter_sleeper(struct partition_waiter *waiter);

/* `prepare` and `sleep` of a struct channel_sleeper. `waiter`: a struct partition_waiter, of the
 * calling thread. `deadline`: as for kernel/time.h. After partition_waiter_prepare() a doorbell of
 * any of the channels ends the next partition_waiter_sleep(), which may also end earlier; it
 * returns false if the deadline passed. Look at the channels between the two. Thread context. */
void partition_waiter_prepare(void *waiter);
bool partition_waiter_sleep(void *waiter, uint64_t deadline);

/* Returns what the functions of channel/wait.h need to watch a channel: the processor waits for the
 * other end's store (WFE), and no end rings a doorbell. If the memory is not cached, it polls. For
 * partitions that share no core. Other threads of the partition execute only if they are more
 * urgent. Deadlines as for kernel/time.h. */
struct channel_watcher partition_channel_watcher(const struct partition_channel *channel);

#endif
