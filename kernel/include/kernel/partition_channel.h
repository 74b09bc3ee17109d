/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels to other partitions of the separation kernel, for programs of our kernel: the functions
 * of channel/guest.h, which return an enum result, with deadlines as for kernel/time.h.
 *
 *   GUEST_NOT_FOUND     RESULT_NOT_FOUND
 *   GUEST_MALFORMED     RESULT_INVALID
 *   GUEST_OTHER_KIND    RESULT_UNSUPPORTED
 *   GUEST_INVALID_SIZE  RESULT_INVALID
 *   GUEST_NO_INTERRUPT  RESULT_UNSUPPORTED
 *
 * The kernel has a devicetree whenever a program executes. partition_channel_open() also returns
 * what arch_mmu_map_memory() does, and partition_waiter_add() what interrupt_attach() does.
 */
#ifndef KERNEL_PARTITION_CHANNEL_H
#define KERNEL_PARTITION_CHANNEL_H

#include <arch/channel.h>
#include <channel/guest.h>

/* Returns what the functions of channel/wait.h need to watch a channel: the processor waits for the
 * other end's store (WFE), and no end rings a doorbell. If the memory is not cached, it polls. For
 * partitions that share no core. Other threads of the partition execute only if they are more
 * urgent. Deadlines as for kernel/time.h. */
struct channel_watcher partition_channel_watcher(const struct partition_channel *channel);

#endif
