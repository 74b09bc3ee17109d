/* SPDX-License-Identifier: BSD-2-Clause */
/* System instructions: codes as GNU as makes them. */
#include "instructions.h"
#include "model_test.h"

static void expect(enum system_instruction kind, const uint32_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(instruction_kind(codes[i]), kind);
    }
}

#define EXPECT(kind, codes) expect(kind, codes, sizeof(codes) / sizeof((codes)[0]))

static void test_kinds(void **state)
{
    static const uint32_t registers[] = {
        0xd5181000, /* msr sctlr_el1, x0 */
        0xd5182001, /* msr ttbr0_el1, x1 */
        0xd5182022, /* msr ttbr1_el1, x2 */
        0xd5182043, /* msr tcr_el1, x3 */
        0xd51c1104, /* msr hcr_el2, x4 */
        0xd51c2105, /* msr vttbr_el2, x5 */
        0xd51c2146, /* msr vtcr_el2, x6 */
        0xd51c1007, /* msr sctlr_el2, x7 */
        0xd51c2008, /* msr ttbr0_el2, x8 */
        0xd51c2049, /* msr tcr_el2, x9 */
    };
    static const uint32_t own[] = {
        0xd50c871f, /* tlbi alle2 */
        0xd50c8724, /* tlbi vae2, x4 */
        0xd50c879f, /* tlbi alle1 */
    };
    static const uint32_t all[] = {
        0xd50c839f, /* tlbi alle1is */
        0xd50c8323, /* tlbi vae2is, x3 */
    };
    static const uint32_t own_of_vmid[] = {
        0xd508871f, /* tlbi vmalle1 */
        0xd5088724, /* tlbi vae1, x4 */
        0xd50c8423, /* tlbi ipas2e1, x3 */
        0xd50c87df, /* tlbi vmalls12e1 */
    };
    static const uint32_t all_of_vmid[] = {
        0xd508831f, /* tlbi vmalle1is */
        0xd50c8023, /* tlbi ipas2e1is, x3 */
        0xd50c83df, /* tlbi vmalls12e1is */
        0xd5088344, /* tlbi aside1is, x4 */
    };
    static const uint32_t zero[] = {
        0xd50b7423, /* dc zva, x3 */
        0xd50b743f, /* dc zva, xzr */
    };
    static const uint32_t others[] = {
        0xd503201f, /* nop */
        0xd5032fbf, /* hint #125 */
        0xd50b7e23, /* dc civac, x3 */
        0xd508711f, /* ic ialluis */
        0xd5382000, /* mrs x0, ttbr0_el1 */
        0xd50342df, /* msr daifset, #0x2 */
        0xd518c000, /* msr vbar_el1, x0 */
        0xd518d020, /* msr contextidr_el1, x0 */
        0xd5087800, /* at s1e1r, x0 */
        0xd69f03e0, /* eret */
        0xd5033fdf, /* isb */
        0xaa0103e0, /* mov x0, x1 */
        0x00000000, 0xffffffff,
    };

    (void)state;
    assert_int_equal(instruction_kind(0xd5032fdf), INSTRUCTION_BEGIN); /* hint #126 */
    assert_int_equal(instruction_kind(0xd5032fff), INSTRUCTION_END);   /* hint #127 */
    EXPECT(INSTRUCTION_TRANSLATION_REGISTER, registers);
    EXPECT(INSTRUCTION_TLBI, own);
    EXPECT(INSTRUCTION_TLBI_ALL, all);
    EXPECT(INSTRUCTION_TLBI_VMID, own_of_vmid);
    EXPECT(INSTRUCTION_TLBI_VMID_ALL, all_of_vmid);
    EXPECT(INSTRUCTION_ZERO, zero);
    EXPECT(INSTRUCTION_OTHER, others);
}

static void test_registers(void **state)
{
    (void)state;
    assert_int_equal(instruction_register(0xd50b7423), 3);
    assert_int_equal(instruction_register(0xd50b743f), 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_registers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
