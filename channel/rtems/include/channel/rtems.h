/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels to other partitions of the separation kernel, for programs of RTEMS: where their memory
 * is, the calls that notify the other end, and waits for its notifications. The functions are those
 * of our own kernel (kernel/partition_channel.h), but return status codes of RTEMS.
 *
 * A program finds its channels in the devicetree of its partition. The hypervisor passes the
 * devicetree's address in a register, which RTEMS does not keep. So the program must be linked with
 * the entry that does (-Wl,--entry=partition_start).
 */
#ifndef CHANNEL_RTEMS_H
#define CHANNEL_RTEMS_H

#include "channel/broadcast.h"
#include "channel/value.h"
#include "channel/wait.h"
#include <rtems.h>
#include <rtems/irq-extension.h>
#include <rtems/thread.h>

#define PARTITION_CHANNEL_NAME_BYTES 16u

struct channel_states;
struct partition_waiter;

struct partition_channel {
    char name[PARTITION_CHANNEL_NAME_BYTES];
    uint32_t index;  /* in the system: names the channel in calls */
    uint32_t end;    /* of this partition: 0 or 1 */
    bool has_values; /* only the newest value is of interest, not each message */
    bool is_one_way; /* from end 0 to end 1 */
    uint64_t section_bytes;
    const struct channel_states *states;
    void *own;        /* section that this end writes; NULL: end 1 of a one-way channel */
    const void *peer; /* section that the other end writes; NULL: end 0 of a one-way channel */
    /* Private: */
    rtems_vector_number vector;
    rtems_interrupt_entry entry;
    bool is_armed; /* the interrupt is unmasked; accessed atomically */
    struct partition_waiter *waiter;
    struct partition_channel *next; /* of the same waiter */
};

/* A task that waits for the doorbells of its channels. Their interrupts are masked except from
 * partition_waiter_prepare() to the next doorbell, so notifications that nobody waits for cost this
 * partition nothing. */
struct partition_waiter {
    rtems_binary_semaphore rung;
    struct partition_channel *channels;
};

/* Maps the partition's devicetree and returns it, for the functions of <libfdt.h>. Returns NULL if
 * the program's entry is not partition_start, or if there is no valid devicetree. Task context. */
const void *partition_devicetree(void);

/* Returns the key `arguments` of the partition in the system file, "" if there are none. Task
 * context. */
const char *partition_boot_arguments(void);

/* Finds the channel with this name in the devicetree (NULL: the first one), and maps its memory.
 * Returns RTEMS_NOT_CONFIGURED (no devicetree, see partition_devicetree()), RTEMS_INVALID_NAME (no
 * such channel), RTEMS_INVALID_NODE (its node is malformed), RTEMS_INVALID_ADDRESS (a pointer of
 * this ABI can't address it), or what aarch64_mmu_map() returns. Task context. */
rtems_status_code partition_channel_open(struct partition_channel *channel, const char *name);

/* Begins a life of this end of a channel of messages, which uses `place` from then on, and shows
 * the other end that this one is present. Returns RTEMS_NOT_DEFINED if the channel is one-way or
 * has values, and RTEMS_INVALID_SIZE if its section has a size that no ring has. Task context. */
rtems_status_code partition_channel_begin(struct partition_channel *place, struct channel *channel);

/* Begin to use this end of a channel of another kind, and show the other end that this one is
 * present: a channel of values, and the sending or the receiving end of a one-way channel
 * (`with_newest`: see broadcast_receiver_begin()). If value_write_end() returns true, call
 * partition_channel_notify(). The receiver of a one-way channel can't say that it sleeps: a sender
 * that wants to wake it calls partition_channel_notify() after each message. Return
 * RTEMS_NOT_DEFINED if the channel or the end is of another kind, and RTEMS_INVALID_SIZE if its
 * section has a size that no ring has. Task context. */
rtems_status_code partition_channel_begin_values(const struct partition_channel *place,
                                                 struct value_writer *writer,
                                                 struct value_reader *reader);
rtems_status_code partition_channel_begin_sender(const struct partition_channel *place,
                                                 struct broadcast_sender *sender);
rtems_status_code partition_channel_begin_receiver(const struct partition_channel *place,
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

/* Adds a channel, which has no waiter yet. Both must stay valid. Results as
 * rtems_interrupt_entry_install(). Task context. */
rtems_status_code partition_waiter_add(struct partition_waiter *waiter,
                                       struct partition_channel *channel);

/* Returns what channel_wait_any() and call.h need to sleep: a sleeper of the calling task. Its
 * deadlines are values of rtems_clock_get_uptime_nanoseconds(). */
struct channel_sleeper partition_waiter_sleeper(struct partition_waiter *waiter);

/* `prepare` and `sleep` of a struct channel_sleeper. `waiter`: a struct partition_waiter, of the
 * calling task. After partition_waiter_prepare() a doorbell of any of the channels ends the next
 * partition_waiter_sleep(), which may also end earlier; it returns false if the deadline passed, up
 * to one clock tick late. Look at the channels between the two. Task context. */
void partition_waiter_prepare(void *waiter);
bool partition_waiter_sleep(void *waiter, uint64_t deadline);

#endif
