/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code from the loader to C: the arm64 Image header, the drop from EL2, relocation, .bss and
 * the stack. The state at entry is that of Linux' Documentation/arch/arm64/booting: MMU and data
 * cache are off, x0 is the devicetree's address, and the loaded image is cleaned to the point of
 * coherency. The state of the cache lines of .bss is unknown.
 *
 * All memory is Device-nGnRnE until the MMU is on (Arm ARM, "The effects of disabling an address
 * translation stage"), so this code makes no unaligned access and uses no DC ZVA.
 */

#define INTERRUPT_STACK_BYTES 8192
#define EMERGENCY_STACK_BYTES 4096

/* Little-endian, 4 KiB pages, anywhere in memory. */
#define IMAGE_FLAGS 0xa
#define IMAGE_MAGIC 0x644d5241

#define R_AARCH64_RELATIVE 1027

/* SCTLR_EL1 with MMU and caches off: only the bits that are RES1 without the features that define
 * them (Arm ARM, SCTLR_EL1): LSMAOE, nTLSMD, SPAN, EIS, TSCXT, EOS. */
#define SCTLR_EL1_MMU_OFF 0x30d00800
/* SCTLR_EL1 with MMU and caches on: RES1 | WXN | I | SA0 | SA | C | M. WXN: no writable memory is
 * executable. */
#define SCTLR_EL1_MMU_ON  0x30d8181d
#define HCR_EL2_RW        (1 << 31)
#define CPTR_EL2_NO_TRAPS 0x33ff
#define CNTHCTL_EL2_EL1   0x3 /* EL1PCTEN, EL1PCEN */
#define ICC_SRE_EL2_ON    0x9 /* Enable, SRE */
#define SPSR_EL1H_MASKED  0x3c5

    .section .text.image_header, "ax"
    .global image_start
image_start:
    mrs x20, cntvct_el0 /* the first instruction: the boot time counts from here */
    b entry
    .quad 0 /* text_offset */
    .long image_bytes
    .long 0
    .quad IMAGE_FLAGS
    .quad 0
    .quad 0
    .quad 0
    .long IMAGE_MAGIC
    .long 0

    .section .text.boot, "ax"

/* Applies `operation` to the data cache lines of [x0, x1), to the point of coherency. Changes x0,
 * x2, x3. */
    .macro data_cache_lines operation
    mrs x2, ctr_el0
    ubfx x2, x2, #16, #4 /* DminLine: log2 of words in the smallest line (Arm ARM, CTR_EL0) */
    mov x3, #4
    lsl x2, x3, x2
    sub x3, x2, #1
    bic x0, x0, x3
1:  dc \operation, x0
    add x0, x0, x2
    cmp x0, x1
    b.lo 1b
    dsb sy
    .endm

    .macro address register, symbol
    adrp \register, \symbol
    add \register, \register, :lo12:\symbol
    .endm

entry:
    msr daifset, #0xf
    mov x19, x0
    mrs x1, currentel
    cmp x1, #(2 << 2)
    b.eq enter_from_el2
    cmp x1, #(1 << 2)
    b.ne halt
enter_el1:
    ldr w1, =SCTLR_EL1_MMU_OFF
    msr sctlr_el1, x1
    isb
    msr spsel, #1
    address x1, exception_vectors
    msr vbar_el1, x1
    msr tpidr_el1, xzr
    msr cpacr_el1, xzr /* floating point is trapped */
    msr mdscr_el1, xzr /* no debug events */
    isb

    /* The data below is written past the cache. A dirty line that the loader left must not be
     * evicted over it later. */
    address x0, image_relocated_start
    address x1, image_end
    data_cache_lines civac

    address x4, image_start
    address x5, image_relocations_start
    address x6, image_relocations_end
2:  cmp x5, x6
    b.hs 3f
    ldp x7, x8, [x5], #16
    ldr x9, [x5], #8
    cmp x8, #R_AARCH64_RELATIVE
    b.ne halt
    add x9, x9, x4
    str x9, [x4, x7]
    b 2b

3:  address x5, image_bss_start /* aligned to 64, as is its end */
    address x6, image_bss_end
4:  cmp x5, x6
    b.hs 5f
    stp xzr, xzr, [x5]
    stp xzr, xzr, [x5, #16]
    stp xzr, xzr, [x5, #32]
    stp xzr, xzr, [x5, #48]
    add x5, x5, #64
    b 4b

5:  address x1, interrupt_stack_top
    mov sp, x1
    mov x29, xzr
    mov x30, xzr
    mov x0, x19
    bl mmu_boot

    /*
     * Cache lines that were fetched while the writes above bypassed the cache hold old content.
     * They are invalidated before the first cacheable access (Arm ARM, "Mismatched memory
     * attributes").
     */
    address x0, image_relocated_start
    address x1, image_end
    data_cache_lines ivac
    ic iallu
    tlbi vmalle1
    dsb nsh
    isb
    ldr w1, =SCTLR_EL1_MMU_ON
    msr sctlr_el1, x1
    isb

    mov x0, x19
    mov x1, x20
    bl arch_main
halt:
    wfi
    b halt

/*
 * Gives EL1 access to all registers that it uses, and drops to EL1. Writes every register that
 * affects EL1 and whose reset value is unknown (Arm ARM, "Reset", and the reset value of each
 * register).
 */
enter_from_el2:
    mov x1, #HCR_EL2_RW
    msr hcr_el2, x1
    isb
    msr cntvoff_el2, xzr
    isb
    mrs x20, cntvct_el0 /* the value read at image_start included an unknown offset */

    /* If E2H is RES1, CNTHCTL_EL2 and CPTR_EL2 have the layouts of CNTKCTL_EL1 and CPACR_EL1. */
    mrs x1, hcr_el2
    tbnz x1, #34, 1f
    mov x2, #CNTHCTL_EL2_EL1
    mov x3, #CPTR_EL2_NO_TRAPS
    b 2f
1:  mov x2, #(CNTHCTL_EL2_EL1 << 10)
    mov x3, #(3 << 20)
2:  msr cnthctl_el2, x2
    msr cptr_el2, x3
    msr hstr_el2, xzr
    msr vttbr_el2, xzr
    mrs x1, midr_el1
    msr vpidr_el2, x1
    mrs x1, mpidr_el1
    msr vmpidr_el2, x1

    /* MDCR_EL2: no debug traps; EL1 has all event counters (HPMN), if the processor has any. */
    mov x2, xzr
    mrs x1, id_aa64dfr0_el1
    ubfx x1, x1, #8, #4 /* PMUVer: 0 means no PMU, 15 an implementation defined one */
    add x1, x1, #1
    tst x1, #0xe
    b.eq 3f
    mrs x2, pmcr_el0
    ubfx x2, x2, #11, #5
3:  msr mdcr_el2, x2

    mrs x1, id_aa64mmfr0_el1
    ubfx x1, x1, #56, #4 /* FEAT_FGT: fine-grained traps */
    cbz x1, 4f
    msr s3_4_c1_c1_4, xzr /* HFGRTR_EL2 */
    msr s3_4_c1_c1_5, xzr /* HFGWTR_EL2 */
    msr s3_4_c1_c1_6, xzr /* HFGITR_EL2 */
    msr s3_4_c3_c1_4, xzr /* HDFGRTR_EL2 */
    msr s3_4_c3_c1_5, xzr /* HDFGWTR_EL2 */
4:  mrs x1, id_aa64mmfr1_el1
    ubfx x1, x1, #40, #4 /* FEAT_HCX */
    cbz x1, 5f
    msr s3_4_c1_c2_2, xzr /* HCRX_EL2 */

5:  mrs x1, id_aa64pfr0_el1
    ubfx x1, x1, #24, #4 /* GIC: system register interface */
    cbz x1, 6f
    mrs x1, icc_sre_el2
    mov x2, #ICC_SRE_EL2_ON
    orr x1, x1, x2
    msr icc_sre_el2, x1
    isb
    mrs x1, icc_sre_el2
    tbz x1, #0, 6f
    msr ich_hcr_el2, xzr

6:  ldr w1, =SCTLR_EL1_MMU_OFF
    msr sctlr_el1, x1
    mov x1, #SPSR_EL1H_MASKED
    msr spsr_el2, x1
    adr x1, enter_el1
    msr elr_el2, x1
    eret

    .ltorg

/* An overflow of the interrupt stack faults in the guard page. The fault is reported on the
 * emergency stack. */
    .section .stacks, "aw", @nobits
    .balign 4096
    .global interrupt_stack_guard, interrupt_stack_bottom, interrupt_stack_top
    .global emergency_stack_bottom, emergency_stack_top
interrupt_stack_guard:
    .space 4096
interrupt_stack_bottom:
    .space INTERRUPT_STACK_BYTES
interrupt_stack_top:
emergency_stack_bottom:
    .space EMERGENCY_STACK_BYTES
emergency_stack_top:
