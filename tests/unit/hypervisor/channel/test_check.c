/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes one or two fields of a valid description with channels at a time, and checks the result
 * of channel_check(). */
#include "channel/check.h"
#include "description_faults.h"
#include "description_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define PAIR      "does not connect different partitions, or has too many ends: channel"
#define SECTIONS  "sections are not whole pages, or not those of its one_way: channel"
#define PHYSICAL  "a channel overlaps, or is not whole pages: physical address"
#define GUEST     "a channel overlaps, or is not whole pages: guest address"
#define INTERRUPT "a channel's interrupt is not its partition's alone: INTID"
#define FUNCTION  "a PCI function without interrupt or host, or unknown value of function: channel"
#define HOST      "a PCI host of channels overlaps, or is at no such place: guest address"

#define FIRST(field, new_value)  SET(channels[0].field, new_value)
#define SECOND(field, new_value) SET(channels[1].field, new_value)
#define HOST_AT(address)         {SET(partitions[1].channel_host, address), FIRST(ends[1].function, 1)}

static const struct description_fault faults[] = {
    {NULL, 0, {{0}}},
    {PAIR, 0, {FIRST(ends[1].partition, 0)}},
    {PAIR, 1, {SECOND(ends[1].partition, 2)}},
    {PAIR, 0, {FIRST(ends[0].partition, UINT32_MAX)}},
    {SECTIONS, 0, {FIRST(section_bytes, 0)}},
    {SECTIONS, 1, {SECOND(section_bytes, 0x1800)}},
    {SECTIONS, 0, {FIRST(section_bytes, UINT64_C(1) << 37)}},
    {SECTIONS, 0, {FIRST(section_bytes, UINT64_C(1) << 63)}},
    {SECTIONS, 0, {FIRST(one_way, 2)}},
    {SECTIONS, 0, {FIRST(common_pages, UINT32_MAX)}},
    {SECTIONS, 0, {FIRST(common_pages, 1), FIRST(one_way, 1)}},
    /* Further receivers of a channel that is not one-way, and too many. */
    {PAIR, 0, {FIRST(further_receivers, 1)}},
    {PAIR, 0, {FIRST(one_way, 1), FIRST(further_receivers, DESCRIPTION_ENDS_MAX - 1)}},
    {PAIR, 0, {FIRST(one_way, 1), FIRST(further_receivers, UINT32_MAX)}},
    /* The further receiver is partition 0, the sender. */
    {PAIR, 0, {FIRST(one_way, 1), FIRST(further_receivers, 1)}},

    {PHYSICAL, 0x60000800, {FIRST(physical, 0x60000800)}},
    {PHYSICAL, UINT64_C(1) << 48, {FIRST(physical, UINT64_C(1) << 48)}},
    {PHYSICAL, 0xfffffffde000, {FIRST(physical, 0xfffffffde000)}},
    {NULL, 0, {FIRST(physical, 0xfffffffdd000)}},
    /* The hypervisor's memory, and one page before it. */
    {PHYSICAL, 0x3ffde000, {FIRST(physical, 0x3ffde000)}},
    {NULL, 0, {FIRST(physical, 0x3ffdd000)}},
    {PHYSICAL, 0x8000000, {FIRST(physical, 0x8000000)}},       /* GICD */
    {PHYSICAL, 0x8110000, {FIRST(physical, 0x8110000)}},       /* a Redistributor */
    {PHYSICAL, 0x9000000, {FIRST(physical, 0x9000000)}},       /* the UART */
    {PHYSICAL, 0x9060000, {FIRST(physical, 0x9060000)}},       /* the SMMU */
    {PHYSICAL, 0x4010fff000, {FIRST(physical, 0x4010fff000)}}, /* ECAM */
    {PHYSICAL, 0x9010000, {FIRST(physical, 0x9010000)}},       /* a device */
    {PHYSICAL, 0x101ff000, {FIRST(physical, 0x101ff000)}},     /* the PCI memory window */
    {PHYSICAL, 0x3eff1000, {FIRST(physical, 0x3eff1000)}},     /* the PCI I/O window */
    {PHYSICAL, 0x42ff0000, {FIRST(physical, 0x42ff0000)}},     /* memory of one end */
    {PHYSICAL, 0x5fff0000, {SECOND(physical, 0x5fff0000)}},    /* memory of the other end */
    {PHYSICAL, 0x60022000, {SECOND(physical, 0x60022000)}},    /* the other channel */
    {NULL, 0, {SECOND(physical, 0x60023000)}},
    {PHYSICAL, 0x5ffff000, {SECOND(physical, 0x5ffff000), SECOND(section_bytes, 0x1000)}},

    {GUEST, 0x60000010, {FIRST(ends[0].guest, 0x60000010)}},
    {GUEST, UINT64_C(1) << 39, {FIRST(ends[1].guest, UINT64_C(1) << 39)}},
    {GUEST, 0x7ffffde000, {FIRST(ends[1].guest, 0x7ffffde000)}},
    {NULL, 0, {FIRST(ends[1].guest, 0x7ffffdd000)}},
    {GUEST, 0x8000000, {FIRST(ends[0].guest, 0x8000000)}},
    {GUEST, 0x80e0000, {FIRST(ends[0].guest, 0x80e0000)}},
    {GUEST, 0x4010fff000, {FIRST(ends[0].guest, 0x4010fff000)}},
    {GUEST, 0x9010000, {FIRST(ends[0].guest, 0x9010000)}},
    {NULL, 0, {FIRST(ends[1].guest, 0x9010000)}}, /* the device is the other partition's */
    {GUEST, 0x1fff000, {FIRST(ends[0].guest, 0x1fff000)}},
    {NULL, 0, {FIRST(ends[0].guest, 0x50000000)}}, /* so is this memory */
    {GUEST, 0x5ffde000, {FIRST(ends[1].guest, 0x5ffde000)}},
    {GUEST, 0x10000000, {FIRST(ends[1].guest, 0x10000000)}},
    {GUEST, 0x3eff1000, {FIRST(ends[1].guest, 0x3eff1000)}},
    {GUEST, 0x9100000, {FIRST(ends[1].guest, 0x9100000)}}, /* the console */
    {NULL, 0, {FIRST(ends[0].guest, 0x9100000)}},
    {GUEST, 0x74000000, {SET(partitions[0].times, 0x74022000), FIRST(ends[0].guest, 0x74000000)}},
    {GUEST, 0x60022000, {SECOND(ends[1].guest, 0x60022000)}},   /* the other channel */
    {GUEST, 0x600000000, {SECOND(ends[0].guest, 0x600000000)}}, /* also from its other end */
    {NULL, 0, {SECOND(ends[0].guest, 0x60000000)}},
    /* Redistributors of more VCPUs than there are cores. */
    {GUEST, 0x8120000, {SET(partitions[0].vcpu_count, 5), FIRST(ends[0].guest, 0x8120000)}},
    {NULL, 0, {FIRST(ends[0].guest, 0x8120000)}},

    {NULL, 0, {FIRST(ends[0].interrupt, 0)}},
    {NULL, 0, {FIRST(ends[0].interrupt, 0), SECOND(ends[1].interrupt, 0)}},
    {INTERRUPT, 1020, {FIRST(ends[0].interrupt, 1020)}},
    {INTERRUPT, UINT32_MAX, {FIRST(ends[1].interrupt, UINT32_MAX)}},
    {INTERRUPT, 15, {FIRST(ends[0].interrupt, 15)}},
    {INTERRUPT, 40, {FIRST(ends[0].interrupt, 40)}},  /* the console's */
    {INTERRUPT, 34, {FIRST(ends[0].interrupt, 34)}},  /* level-sensitive */
    {INTERRUPT, 53, {FIRST(ends[0].interrupt, 53)}},  /* the other partition's */
    {INTERRUPT, 48, {FIRST(ends[0].interrupt, 48)}},  /* nobody's */
    {INTERRUPT, 53, {SECOND(ends[0].interrupt, 53)}}, /* the other channel's */

    {NULL, 0, {FIRST(ends[0].function, 2), SET(partitions[0].channel_host, 0xc000000)}},
    {FUNCTION, 0, {FIRST(ends[0].function, 3), SET(partitions[0].channel_host, 0xc000000)}},
    {FUNCTION, 0, {FIRST(ends[0].function, 1)}},
    {FUNCTION, 0, {FIRST(ends[0].function, 2)}},
    {FUNCTION, 1, {SECOND(ends[0].function, 1), SET(partitions[0].channel_host, 0xc000000)}},
    {FUNCTION, 0, {FIRST(ends[0].reserved, 1)}},
    {FUNCTION, 1, {SECOND(ends[1].reserved, 1)}},
    {NULL, 0, HOST_AT(0xc000000)},
    {HOST, 0xc010000, HOST_AT(0xc010000)},
    {NULL, 0, HOST_AT(0xffe00000)},
    {HOST, 0xfff00000, HOST_AT(0xfff00000)},
    {HOST, UINT64_C(1) << 32, HOST_AT(UINT64_C(1) << 32)},
    {HOST, 0x8000000, HOST_AT(0x8000000)},   /* GICD and Redistributors */
    {HOST, 0x10000000, HOST_AT(0x10000000)}, /* the PCI memory window */
    {HOST, 0x3ef00000, HOST_AT(0x3ef00000)}, /* the PCI I/O window, behind ECAM */
    {HOST, 0x9100000, HOST_AT(0x9100000)},   /* the console */
    {HOST, 0x5ff00000, HOST_AT(0x5ff00000)}, /* its memory */
    /* Channels, also if they are behind in the description. */
    {HOST, 0x70000000, {SET(partitions[0].channel_host, 0x70000000)}},
    {HOST, 0x60000000, {SET(partitions[0].channel_host, 0x60000000)}},
    {NULL, 0, HOST_AT(0x70000000)}, /* the other partition's */
};

static void test_faults(void **state)
{
    (void)state;
    description_expect_faults(faults, sizeof(faults) / sizeof(faults[0]),
                              description_make_connected, channel_check);
}

static void test_one_way_needs_less_room(void **state)
{
    static struct description description;
    uint64_t value = 0;

    (void)state;
    description_make_connected(&description);
    description.channels[0].physical = 0x3ffed000;
    assert_non_null(channel_check(&description, &value));
    description.channels[0].one_way = 1;
    assert_null(channel_check(&description, &value));
}

static void test_no_channels(void **state)
{
    static struct description description;
    uint64_t value = 0;

    (void)state;
    description_make(&description);
    assert_null(channel_check(&description, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_one_way_needs_less_room),
        cmocka_unit_test(test_no_channels),
    };

    return cmocka_run_group_tests_name("channel_check", tests, NULL, NULL);
}
