/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first code of the boot core, from the loader to C: the arm64 Image header, relocation, .bss
 * and the stack. The state at entry is that of Linux' Documentation/arch/arm64/booting: MMU and
 * data cache are off, and the loaded image is cleaned to the point of coherency. Of the devicetree
 * in x0 only the seeds for random numbers are used, because the system description follows the
 * image.
 *
 * All memory is Device-nGnRnE until the MMU is on, so this code makes no unaligned access and uses
 * no DC ZVA.
 */
#include "entry/macros.inc"

#define IMAGE_FLAGS 0x2 /* little-endian, 4 KiB pages, text_offset from the start of RAM */
#define IMAGE_MAGIC 0x644d5241

#define R_AARCH64_RELATIVE 1027

    .section .text.image_header, "ax"
    .global image_start
image_start:
    b entry
    nop
    .quad 0 /* text_offset: the tools store the board's */
    .quad image_bytes /* image_size: the tools add the bytes that they append */
    .quad IMAGE_FLAGS
    .quad 0 /* reserved: the tools store the PL011's address here */
    .quad 0 /* reserved: the tools store the bitwise inverse of that address here */
    .quad 0
    .long IMAGE_MAGIC
    .long 0

    .section .text.boot, "ax"
entry:
    msr daifset, #0xf
    mov x20, x0 /* the address of the devicetree, until boot_early() has it */
    mrs x1, currentel
    cmp x1, #(2 << 2)
    b.ne report_level
    take_el2 x1, x2 /* boot_early() refuses a processor on which E2H is RES1 */
    /* The data below is written past the cache. A dirty line that the loader left must not be
     * evicted over it later. */
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
    cbz x8, 2b /* R_AARCH64_NONE: the linker discarded the section */
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
5:  wfe /* halt: the core is not at EL2, or a relocation has an unexpected type */
    b 5b

6:  address x1, boot_stack_top
    mov sp, x1
    mov x29, xzr
    mov x30, xzr
    address x1, monitor_vectors
    msr vbar_el2, x1
    msr tpidr_el2, xzr /* no struct processor yet, so that monitor_recover() halts */
    mov x0, x20
    bl boot_early
    mov x19, x0

    /* Cache lines that were fetched while the writes above bypassed the cache hold old content.
     * They are invalidated before the first cacheable access (Arm ARM, "Mismatched memory
     * attributes"). */
    address x0, monitor_constants_start
    address x1, image_end
    data_cache_lines ivac
    mov x0, x19
    bl monitor_mmu_on
    bl boot_main
7:  wfi
    b 7b

/* Writes a line to the PL011 whose address is in the header. C code can't: it uses registers of
 * EL2. The loader has set up the PL011, as it has for Linux' early console. */
report_level:
    address x1, image_start
    ldp x2, x3, [x1, #32]
    mvn x3, x3
    cmp x2, x3
    b.ne 5b /* the tools have stored no address */
    cbz x2, 5b /* the board has no terminal */
    adr x1, level_report
8:  ldrb w3, [x1], #1
    cbz w3, 5b
9:  ldr w4, [x2, #0x18] /* UARTFR (DDI 0183) */
    tbnz w4, #5, 9b     /* TXFF: the FIFO is full */
    str w3, [x2]        /* UARTDR */
    b 8b
level_report:
    .asciz "bulkhead| the system can't start: it needs EL2, and the loader started it at another level\r\n"

    .section .bss.boot_stack, "aw", @nobits
    .balign 4096
    .space 8192
boot_stack_top:
