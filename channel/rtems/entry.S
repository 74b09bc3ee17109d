/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's entry in a partition. It keeps the devicetree's address (X0, as Linux's arm64 boot
 * protocol passes it), which RTEMS's entry does not use.
 */

    .section .text.partition_start, "ax"
    .global partition_start
    .type partition_start, %function
partition_start:
    adrp    x1, partition_devicetree_address
    add     x1, x1, :lo12:partition_devicetree_address
    str     x0, [x1]
    /* The MMU is off, so the store bypasses the caches. A clean copy of the line may be in them. */
    dmb     sy
    dc      ivac, x1
    dsb     sy
    b       _start
    .size partition_start, . - partition_start

    /* In a section that RTEMS does not clear. A cache line of its own. */
    .section .data.partition_devicetree_address, "aw"
    .balign 64
    .global partition_devicetree_address
    .type partition_devicetree_address, %object
partition_devicetree_address:
    .xword  0
    .balign 64
    .size partition_devicetree_address, 8
