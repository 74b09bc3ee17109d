/* SPDX-License-Identifier: BSD-2-Clause */
/* A page is mapped to other memory, with each kind of broadcast TLB maintenance in between. */
#include "kernel/memory.h"
#include "kernel/print.h"
#include "rogue.h"

/* The upper half of the addresses, which this kernel does not use: 39 bits, from level 1. */
#define ADDRESS      UINT64_C(0xffffff8000000000)
#define TCR_EPD1     (UINT64_C(1) << 23)
#define TCR_UPPER    (UINT64_C(0xffff) << 16)
#define TCR_T1SZ     (UINT64_C(25) << 16)
#define TCR_IRGN1_WB (UINT64_C(1) << 24)
#define TCR_ORGN1_WB (UINT64_C(1) << 26)
#define TCR_SH1      (UINT64_C(3) << 28)
#define TCR_TG1_4K   (UINT64_C(2) << 30)

/* Descriptors (Arm ARM, D8.3): of a table; of a page, accessed, not global, Inner Shareable. */
#define TABLE UINT64_C(3)
#define ENTRY (UINT64_C(3) | UINT64_C(3) << 8 | UINT64_C(1) << 10 | UINT64_C(1) << 11)

/* TLBI, in x0 a page's address, or a range of two pages of 4 KiB from it. */
#define OPERAND_PAGE  (ADDRESS >> 12 & ((UINT64_C(1) << 44) - 1))
#define OPERAND_RANGE ((ADDRESS >> 12 & ((UINT64_C(1) << 37) - 1)) | UINT64_C(1) << 46)
#define CODE_WORDS    ((size_t)2)
#define NOP           0xd503201fu
#define CONTROLS      100u

/* ID_AA64ISAR0_EL1.TLB: 1 has the Outer Shareable domain, 2 ranges; ID_AA64ISAR1_EL1.XS. */
enum needs { ALWAYS, OUTER, RANGES };

static const struct {
    uint32_t crm, op2;
    enum needs needs;
} forms[] = {
    {3, 0, ALWAYS}, {3, 1, ALWAYS}, {3, 2, ALWAYS}, {3, 3, ALWAYS}, {3, 5, ALWAYS},
    {3, 7, ALWAYS}, {1, 0, OUTER},  {1, 1, OUTER},  {1, 2, OUTER},  {1, 3, OUTER},
    {1, 5, OUTER},  {1, 7, OUTER},  {2, 1, RANGES}, {2, 3, RANGES}, {2, 5, RANGES},
    {2, 7, RANGES}, {5, 1, RANGES}, {5, 3, RANGES}, {5, 5, RANGES}, {5, 7, RANGES},
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))
#define CRN   8u /* and 9 with FEAT_XS */

static uint64_t *pages; /* tables of levels 1 to 3, and two of data */

static uint64_t *page(unsigned number)
{
    return &pages[number * PAGE / sizeof(*pages)];
}

static void map(uint64_t descriptor)
{
    *(volatile uint64_t *)page(2) = descriptor;
    __asm__ volatile("dsb ish\n\tisb" : : : "memory");
}

static uint64_t load(void)
{
    return *(volatile uint64_t *)ADDRESS;
}

/* The form with a number, below 2 * FORMS. */
static uint32_t instruction(unsigned number)
{
    uint32_t crn = CRN + (uint32_t)(number / FORMS);

    return WRITE(1, NAME(0u, crn, forms[number % FORMS].crm, forms[number % FORMS].op2));
}

/* Returns true if the page's new memory is seen after the instructions. */
static bool sees_new_memory(const uint32_t *code, uint64_t operand)
{
    uint64_t syndrome;

    __asm__ volatile("tlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
    map((uintptr_t)page(3) | ENTRY);
    (void)load();
    map(0);
    (void)try_code(code, operand, &syndrome);
    __asm__ volatile("dsb ish\n\tisb" : : : "memory");
    map((uintptr_t)page(4) | ENTRY);
    return syndrome == 0 && load() == 4;
}

/* Returns true if the page's old memory is seen without maintenance, as the TLB has it. A processor
 * may drop an entry at any time, such as when its core is switched to another VCPU; so it is tried
 * several times. */
static bool keeps_old_memory(const uint32_t *nop)
{
    for (unsigned i = 0; i < CONTROLS; i++) {
        if (!sees_new_memory(nop, 0)) {
            return true;
        }
    }
    return false;
}

static bool has(enum needs needs, unsigned crn)
{
    uint64_t isar0, isar1;

    __asm__("mrs %0, id_aa64isar0_el1\n\tmrs %1, id_aa64isar1_el1" : "=r"(isar0), "=r"(isar1));
    return (isar0 >> 56 & 0xf) >= needs && (crn == CRN || (isar1 >> 56 & 0xf) != 0);
}

static uint64_t upper_half_on(void)
{
    uint64_t control, set = TCR_T1SZ | TCR_IRGN1_WB | TCR_ORGN1_WB | TCR_SH1 | TCR_TG1_4K;

    page(0)[0] = (uintptr_t)page(1) | TABLE;
    page(1)[0] = (uintptr_t)page(2) | TABLE;
    page(3)[0] = 3;
    page(4)[0] = 4;
    __asm__ volatile("dsb ish\n\tmrs %0, tcr_el1" : "=r"(control) : : "memory");
    set |= control & ~(TCR_UPPER | TCR_EPD1);
    __asm__ volatile("msr ttbr1_el1, %0\n\tmsr tcr_el1, %1\n\tisb"
                     :
                     : "r"(page(0)), "r"(set)
                     : "memory");
    return control;
}

void attack_remap(uint64_t where)
{
    uint32_t *code = code_allocate((2 * FORMS + 1) * CODE_WORDS);
    unsigned tried = 0, seen = 0;
    struct trying trying;
    uint64_t control;
    bool kept;

    (void)where;
    pages = page_allocate(5, PAGE);
    for (unsigned i = 0; code != NULL && i < 2 * FORMS; i++) {
        code[CODE_WORDS * i] = instruction(i);
        code[CODE_WORDS * i + 1] = RET;
    }
    if (code != NULL) {
        code[CODE_WORDS * 2 * FORMS] = NOP;
        code[CODE_WORDS * 2 * FORMS + 1] = RET;
    }
    if (code == NULL || pages == NULL || !code_finish(code, (2 * FORMS + 1) * CODE_WORDS)) {
        print("FAIL: rogue: no memory\n");
        return;
    }
    control = upper_half_on();
    trying = try_begin();
    kept = keeps_old_memory(&code[CODE_WORDS * 2 * FORMS]);
    for (unsigned i = 0; i < 2 * FORMS; i++) {
        enum needs needs = forms[i % FORMS].needs;

        if (has(needs, CRN + (unsigned)(i / FORMS))) {
            tried++;
            seen += sees_new_memory(&code[CODE_WORDS * i],
                                    needs == RANGES ? OPERAND_RANGE : OPERAND_PAGE);
        }
    }
    try_end(&trying);
    __asm__ volatile("msr tcr_el1, %0\n\tisb" : : "r"(control) : "memory");
    print("remap: %u of %u seen, without maintenance %s\n", seen, tried, kept ? "none" : "too");
}
