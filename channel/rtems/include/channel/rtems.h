/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels to other partitions of the separation kernel, for programs of RTEMS: the functions of
 * channel/guest.h, which return a status code of RTEMS. Threads are tasks. Deadlines are values of
 * rtems_clock_get_uptime_nanoseconds(), and a wait ends up to one clock tick after its deadline.
 *
 *   GUEST_NO_DEVICETREE RTEMS_NOT_CONFIGURED (see partition_devicetree())
 *   GUEST_NOT_FOUND     RTEMS_INVALID_NAME
 *   GUEST_MALFORMED     RTEMS_INVALID_NODE
 *   GUEST_OTHER_KIND    RTEMS_NOT_DEFINED
 *   GUEST_INVALID_SIZE  RTEMS_INVALID_SIZE
 *   GUEST_NO_INTERRUPT  RTEMS_NOT_DEFINED
 *
 * partition_channel_open() also returns RTEMS_INVALID_ADDRESS, if a pointer of this ABI can't
 * address the memory, or what aarch64_mmu_map() does; and partition_waiter_add() what
 * rtems_interrupt_entry_install() does.
 *
 * A program finds its channels in the devicetree of its partition. The hypervisor passes the
 * devicetree's address in a register, which RTEMS does not keep. So the program must be linked with
 * the entry that does (-Wl,--entry=partition_start).
 */
#ifndef CHANNEL_RTEMS_H
#define CHANNEL_RTEMS_H

#include "channel/guest.h"
#include "channel/linkage.h"

CHANNEL_C_BEGIN

/* Maps the partition's devicetree and returns it, for the functions of <libfdt.h>. Returns NULL if
 * the program's entry is not partition_start, or if there is no valid devicetree. Task context. */
const void *partition_devicetree(void);

/* Returns the key `arguments` of the partition in the system file, "" if there are none. Task
 * context. */
const char *partition_boot_arguments(void);

CHANNEL_C_END

#endif
