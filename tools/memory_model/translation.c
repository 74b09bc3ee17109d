/* SPDX-License-Identifier: BSD-2-Clause */
#include "translation.h"
#include "table_walk.h"
#include <stddef.h>

/* Arm ARM: SCTLR_ELx, HCR_EL2, TCR_EL1, VTCR_EL2, TTBRn_ELx, VTTBR_EL2. */
#define SCTLR_M          UINT64_C(1)
#define HCR_VM           UINT64_C(1)
#define TCR_A1           (UINT64_C(1) << 22)
#define TCR_T0SZ_SHIFT   0u
#define TCR_TG0_SHIFT    14u
#define TCR_T1SZ_SHIFT   16u
#define TCR_TG1_SHIFT    30u
#define VTCR_SL0_SHIFT   6u
#define TTBR_ADDRESS     UINT64_C(0x0000fffffffffffe) /* bit 0 is CnP */
#define TTBR_ASID_SHIFT  48u                          /* VTTBR_EL2: of the VMID */
#define SIZE_MASK        0x3fu
#define TWO_BITS         3u
#define INPUT_BITS       64u
#define INPUT_BITS_MIN   16u
#define INPUT_BITS_MAX   48u
#define UPPER_HALF       (UINT64_C(1) << 55) /* chooses TTBR1_EL1; bits above may be a tag */
#define UPPER_BITS       UINT64_C(0xff00000000000000)
#define WHOLE_SPACE      48u /* log2 of the page that a stage without translation has */
#define DESCRIPTOR_SHIFT 3u
#define LEVELS           4u

enum regime { REGIME_EL1, REGIME_EL2 };
/* Above the regime in address_space.regime. A change of SCTLR_EL1.M makes another space. */
#define REGIME_STAGE1     UINT32_C(0x10)
#define REGIME_STAGE2     UINT32_C(0x20)
#define REGIME_VMID_SHIFT 8u
#define REGIME_VMID_MASK  UINT32_C(0xffffff00)

/* A translation in progress. */
struct walk {
    struct translation *translation;
    const struct translation_registers *registers;
    const struct table_memory *memory;
    struct translated *translated;
    uint32_t *reads; /* of the stage whose table is walked by read_physical() */
};

bool translation_create(struct translation *translation,
                        const struct translation_geometry *geometry)
{
    bool is_made = tlb_create(&translation->whole, &geometry->whole);

    return tlb_create(&translation->stage2, &geometry->stage2) && is_made;
}

void translation_destroy(struct translation *translation)
{
    tlb_destroy(&translation->whole);
    tlb_destroy(&translation->stage2);
}

void translation_clear(struct translation *translation)
{
    tlb_clear(&translation->whole);
    tlb_clear(&translation->stage2);
}

static uint32_t field(uint64_t value, uint32_t shift, uint32_t mask)
{
    return (uint32_t)(value >> shift) & mask;
}

static bool is_stage1_on(const struct translation_registers *registers)
{
    uint64_t sctlr = registers->exception_level == 2 ? registers->sctlr_el2 : registers->sctlr_el1;

    return registers->exception_level < 3 && (sctlr & SCTLR_M) != 0;
}

static bool is_stage2_on(const struct translation_registers *registers)
{
    return registers->exception_level < 2 && (registers->hcr_el2 & HCR_VM) != 0;
}

/* The encodings of TCR_ELx.TG0 and VTCR_EL2.TG0, and of TCR_EL1.TG1. 0: reserved. */
static const uint8_t granules_of_tg0[] = {12, 16, 14, 0};
static const uint8_t granules_of_tg1[] = {0, 14, 12, 16};

static bool is_valid(const struct translation_table *table)
{
    return table->granule_shift != 0 && table->input_bits >= INPUT_BITS_MIN &&
           table->input_bits <= INPUT_BITS_MAX && table->input_bits > table->granule_shift &&
           table->first_level < LEVELS;
}

/* Stage 1 begins on the lowest level on which one table has the whole input (D8.2). */
static uint32_t first_level_of_stage1(const struct translation_table *table)
{
    uint32_t bits = table->granule_shift - DESCRIPTOR_SHIFT;
    uint32_t levels = (table->input_bits - table->granule_shift + bits - 1) / bits;

    return LEVELS - levels;
}

static bool stage1_table(const struct translation_registers *registers, bool is_upper,
                         struct translation_table *table)
{
    bool is_el2 = registers->exception_level == 2;
    uint64_t control = is_el2 ? registers->tcr_el2 : registers->tcr_el1;
    uint64_t lower = is_el2 ? registers->ttbr0_el2 : registers->ttbr0_el1;

    if (is_upper && is_el2) {
        return false;
    }
    table->base = (is_upper ? registers->ttbr1_el1 : lower) & TTBR_ADDRESS;
    table->granule_shift = is_upper ? granules_of_tg1[field(control, TCR_TG1_SHIFT, TWO_BITS)]
                                    : granules_of_tg0[field(control, TCR_TG0_SHIFT, TWO_BITS)];
    table->input_bits =
        INPUT_BITS - field(control, is_upper ? TCR_T1SZ_SHIFT : TCR_T0SZ_SHIFT, SIZE_MASK);
    table->first_level = 0;
    if (!is_valid(table)) {
        return false;
    }
    table->first_level = first_level_of_stage1(table);
    return true;
}

/* VTCR_EL2.SL0 is 2 - level for the granule of 4 KiB, and 3 - level for the others. */
static bool stage2_table(const struct translation_registers *registers,
                         struct translation_table *table)
{
    uint64_t control = registers->vtcr_el2;
    uint32_t start = field(control, VTCR_SL0_SHIFT, TWO_BITS);

    table->base = registers->vttbr_el2 & TTBR_ADDRESS;
    table->granule_shift = granules_of_tg0[field(control, TCR_TG0_SHIFT, TWO_BITS)];
    table->input_bits = INPUT_BITS - field(control, TCR_T0SZ_SHIFT, SIZE_MASK);
    table->first_level = (table->granule_shift == 12 ? 2u : 3u) - start;
    return is_valid(table);
}

static uint32_t vmid_space(const struct translation_registers *registers)
{
    return (uint32_t)(registers->vttbr_el2 >> TTBR_ASID_SHIFT) << REGIME_VMID_SHIFT;
}

void translation_clear_vmid(struct translation *translation,
                            const struct translation_registers *registers)
{
    bool has_vmid = registers->exception_level == 2 || (registers->hcr_el2 & HCR_VM) != 0;
    uint32_t vmid = has_vmid ? vmid_space(registers) : 0;

    tlb_clear_regimes(&translation->whole, REGIME_VMID_MASK, vmid);
    tlb_clear_regimes(&translation->stage2, REGIME_VMID_MASK, vmid);
}

static struct address_space space_of(const struct translation_registers *registers)
{
    struct address_space space = {.regime =
                                      registers->exception_level == 2 ? REGIME_EL2 : REGIME_EL1};
    uint64_t table =
        (registers->tcr_el1 & TCR_A1) != 0 ? registers->ttbr1_el1 : registers->ttbr0_el1;

    if (is_stage1_on(registers)) {
        space.regime |= REGIME_STAGE1;
        space.asid =
            space.regime == (REGIME_EL1 | REGIME_STAGE1) ? (uint16_t)(table >> TTBR_ASID_SHIFT) : 0;
    }
    if (is_stage2_on(registers)) {
        space.regime |= REGIME_STAGE2 | vmid_space(registers);
    }
    return space;
}

static bool read_physical(void *context, uint64_t address, uint64_t *descriptor)
{
    struct walk *walk = context;

    *walk->reads += 1;
    return walk->memory->read(walk->memory->context, address, descriptor);
}

/* Translates an intermediate physical address by the TLB of stage 2, or by a walk. */
static bool walk_stage2(struct walk *walk, uint64_t input, struct table_output *output)
{
    const struct address_space space = {.regime = vmid_space(walk->registers)};
    struct tlb *tlb = &walk->translation->stage2;
    const struct tlb_entry *known = tlb_find(tlb, space, input);
    struct walk inner = *walk;
    const struct descriptor_reader reader = {.read = read_physical, .context = &inner};
    struct translation_table table;
    uint64_t offset;

    if (known != NULL) {
        offset = input & ((UINT64_C(1) << known->shift) - 1);
        *output = (struct table_output){.address = known->physical | offset, .shift = known->shift};
        return true;
    }
    inner.reads = &walk->translated->stage2_reads;
    if (!stage2_table(walk->registers, &table) || !table_walk(&table, input, &reader, output)) {
        return false;
    }
    offset = input & ((UINT64_C(1) << output->shift) - 1);
    tlb_fill(tlb, &(struct tlb_entry){.page = input >> output->shift,
                                      .physical = output->address - offset,
                                      .space = space,
                                      .shift = output->shift});
    return true;
}

/* Reads a descriptor of stage 1, whose tables are at intermediate addresses if stage 2 is on. */
static bool read_intermediate(void *context, uint64_t address, uint64_t *descriptor)
{
    struct walk *walk = context;
    struct table_output output = {.address = address};

    if (is_stage2_on(walk->registers) && !walk_stage2(walk, address, &output)) {
        return false;
    }
    walk->reads = &walk->translated->stage1_reads;
    return read_physical(walk, output.address, descriptor);
}

static bool walk_stage1(struct walk *walk, uint64_t address, struct table_output *output)
{
    const struct descriptor_reader reader = {.read = read_intermediate, .context = walk};
    bool is_upper = (address & UPPER_HALF) != 0;
    struct translation_table table;

    if (!stage1_table(walk->registers, is_upper, &table)) {
        return false;
    }
    if (is_upper) { /* all bits above the input are ones, except for a tag */
        address &= (UINT64_C(1) << table.input_bits) - 1;
    } else {
        address &= ~UPPER_BITS;
    }
    return table_walk(&table, address, &reader, output);
}

static bool walk_both(struct walk *walk, uint64_t address, struct table_output *output)
{
    struct table_output stage2;

    *output = (struct table_output){.address = address, .shift = WHOLE_SPACE, .is_global = true};
    if (is_stage1_on(walk->registers) && !walk_stage1(walk, address, output)) {
        return false;
    }
    if (is_stage2_on(walk->registers)) {
        if (!walk_stage2(walk, output->address, &stage2)) {
            return false;
        }
        output->address = stage2.address;
        output->shift = stage2.shift < output->shift ? stage2.shift : output->shift;
    }
    return true;
}

/* Returns the address without a tag. */
static uint64_t untagged(uint64_t address)
{
    return (address & UPPER_HALF) != 0 ? address | UPPER_BITS : address & ~UPPER_BITS;
}

bool translation_find(struct translation *translation,
                      const struct translation_registers *registers,
                      const struct table_memory *memory, uint64_t address,
                      struct translated *translated)
{
    const struct address_space space = space_of(registers);
    const struct tlb_entry *known;
    struct table_output output;
    struct walk walk = {.translation = translation,
                        .registers = registers,
                        .memory = memory,
                        .translated = translated};

    *translated = (struct translated){.physical = address};
    if (!is_stage1_on(registers) && !is_stage2_on(registers)) {
        return true;
    }
    translated->is_used = true;
    address = untagged(address);
    known = tlb_find(&translation->whole, space, address);
    if (known != NULL) {
        translated->physical = known->physical | (address & ((UINT64_C(1) << known->shift) - 1));
        return true;
    }
    translated->is_miss = true;
    if (!walk_both(&walk, address, &output)) {
        return false;
    }
    translated->physical = output.address;
    tlb_fill(&translation->whole,
             &(struct tlb_entry){
                 .page = address >> output.shift,
                 .physical = output.address & ~((UINT64_C(1) << output.shift) - 1),
                 .space = space,
                 .shift = output.shift,
                 .is_global = output.is_global,
             });
    return true;
}
