/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the loader to C, on the boot core: the arm64 Image header, relocation, .bss and the stack.
 * The state at entry is that of Linux' Documentation/arch/arm64/booting: MMU and data cache off,
 * the loaded image is cleaned to the point of coherency. What else x0 says is not needed: the
 * system's description is behind the image.
 *
 * Until the MMU is on all memory is Device-nGnRnE: no unaligned access, no DC ZVA.
 */
#include "monitor/macros.inc"

#define IMAGE_FLAGS 0xa /* little-endian, 4 KiB pages, anywhere in memory */
#define IMAGE_MAGIC 0x644d5241

#define R_AARCH64_RELATIVE 1027

    .section .text.image_header, "ax"
    .global image_start
image_start:
    b entry
    nop
    .quad 0 /* text_offset */
    .quad image_bytes /* the tools add what they put behind it */
    .quad IMAGE_FLAGS
    .quad 0 /* the tools': the terminal's address, */
    .quad 0 /* and inverted */
    .quad 0
    .long IMAGE_MAGIC
    .long 0

    .section .text.boot, "ax"
entry:
    msr daifset, #0xf
    mrs x1, currentel
    cmp x1, #(2 << 2)
    b.ne 5f
    take_el2 x1, x2 /* boot_early() refuses a processor where E2H stays set */
    /* What is written below must not be overwritten by the eviction of a dirty line that a loader
     * left. */
    address x0, monitor_constants_start
    address x1, image_end
    data_cache_lines civac

    address x4, image_start
    address x5, image_relocations_start
    address x6, image_relocations_end
2:  cmp x5, x6
    b.hs 3f
    ldp x7, x8, [x5], #16
    ldr x9, [x5], #8
    cbz x8, 2b /* R_AARCH64_NONE: of what the linker left out */
    cmp x8, #R_AARCH64_RELATIVE
    b.ne 5f
    add x9, x9, x4
    str x9, [x4, x7]
    b 2b

3:  address x5, image_bss_start
    address x6, image_bss_end
4:  cmp x5, x6
    b.hs 6f
    stp xzr, xzr, [x5], #16
    b 4b
5:  wfe /* not EL2, where nothing below makes sense, or not our image */
    b 5b

6:  address x1, boot_stack_top
    mov sp, x1
    mov x29, xzr
    mov x30, xzr
    address x1, monitor_vectors
    msr vbar_el2, x1
    msr tpidr_el2, xzr /* no monitor yet: an exception is the end */
    bl boot_early
    mov x19, x0

    /* Lines that were fetched while the writes above went past the cache are stale: drop them
     * before the first cacheable access (Arm ARM, "Mismatched memory attributes"). */
    address x0, monitor_constants_start
    address x1, image_end
    data_cache_lines ivac
    mov x0, x19
    bl monitor_mmu_on
    bl boot_main
7:  wfi
    b 7b

    .section .bss.boot_stack, "aw", @nobits
    .balign 4096
    .space 8192
boot_stack_top:
