/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes one or two fields of a valid description with shared devices at a time, and checks the
 * result of shared_device_check(). */
#include "description_faults.h"
#include "description_fixture.h"
#include "shared_device/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define PAIR      "does not connect different partitions: shared device"
#define KIND      "unknown device_id, or queues out of range: shared device"
#define FEATURES  "features without VERSION_1, or required and not offered: shared device"
#define FUNCTION  "a PCI function without host, or unknown value of function: shared device"
#define LISTS     "too many windows, too large a configuration, or not 0 behind them: shared device"
#define PHYSICAL  "a shared device overlaps, or is not whole pages: physical address"
#define REGISTERS "registers of a shared device overlap, or are no page: guest address"
#define PAGE      "the page of a shared device overlaps, or is no page: guest address"
#define INTERRUPT "a shared device's interrupt is not its client's alone: INTID"
#define DOORBELL  "a shared device's doorbell is not its back-end's alone: INTID"
#define WINDOW                                                                                  \
    "a window of a shared device is not whole pages of a memory of its client that is neither " \
    "kept nor staging: guest address"
#define PLACE "a window of a shared device overlaps, or is not whole pages: guest address"

#define FIRST(field, new_value)  SET(shared_devices[0].field, new_value)
#define SECOND(field, new_value) SET(shared_devices[1].field, new_value)

static const struct description_fault faults[] = {
    {NULL, 0, {{0}}},
    {PAIR, 0, {FIRST(client, 1)}},
    {PAIR, 1, {SECOND(backend, 1)}},
    {PAIR, 0, {FIRST(client, 2)}},
    {PAIR, 1, {SECOND(backend, UINT32_MAX)}},

    {KIND, 0, {FIRST(device_id, 0)}},
    {KIND, 1, {SECOND(device_id, 3)}},
    {KIND, 0, {FIRST(queue_count, 0)}},
    {NULL, 0, {FIRST(queue_count, 8)}},
    {KIND, 0, {FIRST(queue_count, 9)}},
    {KIND, 0, {FIRST(queue_count, UINT32_MAX)}},
    {KIND, 0, {FIRST(queue_size_max, 0)}},
    {NULL, 0, {FIRST(queue_size_max, 1)}},
    {KIND, 0, {FIRST(queue_size_max, 255)}},
    {KIND, 0, {FIRST(queue_size_max, 512)}},
    {KIND, 1, {SECOND(queue_size_max, UINT32_C(1) << 31)}},

    {FUNCTION, 0, {FIRST(function, 1)}},
    {FUNCTION, 1, {SECOND(function, 2)}},
    {NULL, 0, {FIRST(function, 1), SET(partitions[1].channel_host, 0xc000000)}},
    {FUNCTION, 0, {FIRST(function, UINT32_MAX)}},

    {FEATURES, 0, {FIRST(features, 0x200010020)}},
    {FEATURES, 1, {SECOND(required, 1)}},
    {NULL, 0, {FIRST(required, 0x300000000)}},
    {FEATURES, 0, {FIRST(required, UINT64_MAX)}},

    {NULL, 0, {FIRST(config_bytes, 64)}},
    {LISTS, 0, {FIRST(config_bytes, 65)}},
    {LISTS, 0, {FIRST(config_bytes, UINT32_MAX)}},
    {LISTS, 0, {FIRST(config_bytes, 5)}}, /* its last byte is not 0 */
    {LISTS, 0, {FIRST(config[12], 1)}},
    {LISTS, 0, {FIRST(config[63], 1)}},
    {NULL, 0, {SECOND(config[63], 1)}},
    {LISTS, 0, {FIRST(window_count, 1)}},
    {LISTS, 0, {FIRST(window_count, 5)}},
    {LISTS, 0, {FIRST(window_count, UINT32_MAX)}},
    {LISTS, 0, {FIRST(windows[2].client, 0x1000)}},
    {LISTS, 0, {FIRST(windows[3].backend, 0x1000)}},
    {LISTS, 1, {SECOND(windows[1].bytes, 0x1000)}},

    {PHYSICAL, 0x60100800, {FIRST(physical, 0x60100800)}},
    {PHYSICAL, UINT64_C(1) << 48, {FIRST(physical, UINT64_C(1) << 48)}},
    {PHYSICAL, 0xfffffffff000, {FIRST(physical, 0xfffffffff000)}},
    {NULL, 0, {FIRST(physical, 0xffffffffe000)}},
    {PHYSICAL, 0x3ffff000, {FIRST(physical, 0x3ffff000)}}, /* the hypervisor's memory */
    {NULL, 0, {FIRST(physical, 0x3fffe000)}},
    {PHYSICAL, 0x8000000, {FIRST(physical, 0x8000000)}},       /* GICD */
    {PHYSICAL, 0x8110000, {FIRST(physical, 0x8110000)}},       /* a Redistributor */
    {PHYSICAL, 0x8fff000, {FIRST(physical, 0x8fff000)}},       /* the UART */
    {PHYSICAL, 0x9060000, {FIRST(physical, 0x9060000)}},       /* the SMMU */
    {PHYSICAL, 0x900f000, {FIRST(physical, 0x900f000)}},       /* a device */
    {PHYSICAL, 0x4010fff000, {FIRST(physical, 0x4010fff000)}}, /* ECAM */
    {PHYSICAL, 0x101ff000, {FIRST(physical, 0x101ff000)}},     /* the PCI memory window */
    {PHYSICAL, 0x3eff0000, {FIRST(physical, 0x3eff0000)}},     /* the PCI I/O window */
    {PHYSICAL, 0x42fff000, {FIRST(physical, 0x42fff000)}},     /* memory */
    {PHYSICAL, 0x60022000, {FIRST(physical, 0x60022000)}},     /* a channel */
    {NULL, 0, {FIRST(physical, 0x60023000)}},
    {PHYSICAL, 0x60101000, {SECOND(physical, 0x60101000)}}, /* the other device */
    {NULL, 0, {SECOND(physical, 0x60102000)}},
    {PHYSICAL, 0x9031000, {SET(board.rtc, 0x9031000), FIRST(physical, 0x9031000)}},

    {REGISTERS, 0xa000800, {FIRST(registers, 0xa000800)}},
    {REGISTERS, UINT64_C(1) << 39, {FIRST(registers, UINT64_C(1) << 39)}},
    {NULL, 0, {FIRST(registers, 0x7ffffff000)}},
    {REGISTERS, 0x8000000, {FIRST(registers, 0x8000000)}},       /* GICD */
    {REGISTERS, 0x4010000000, {FIRST(registers, 0x4010000000)}}, /* ECAM */
    {REGISTERS, 0, {FIRST(registers, 0)}},                       /* memory */
    {REGISTERS, 0x9010000, {FIRST(registers, 0x9010000)}},       /* a device */
    {REGISTERS, 0x10000000, {SECOND(registers, 0x10000000)}},    /* the PCI memory window */
    {REGISTERS, 0x9100000, {SECOND(registers, 0x9100000)}},      /* the console */
    {NULL, 0, {FIRST(registers, 0x9100000)}},                    /* the other partition's */
    {REGISTERS, 0x70000000, {FIRST(registers, 0x70000000)}},     /* a channel */
    {REGISTERS, 0xa000000, {SET(partitions[0].times, 0xa000000)}},
    {REGISTERS, 0xa000000, {SET(partitions[0].rtc, 0xa000000)}},
    {REGISTERS, 0xa000000, {SET(partitions[0].health.watchdog, 0x9fff000)}},
    {REGISTERS, 0xa000000, {SET(partitions[0].health.heartbeat, 0xa000000)}},
    {REGISTERS, 0xa000000, {SET(partitions[0].channel_host, 0xa000000)}},
    {REGISTERS,
     0xb01f000,
     {SET(partitions[0].channel_host, 0xaf00000), FIRST(registers, 0xb01f000)}},
    {NULL, 0, {SET(partitions[0].channel_host, 0xaf00000), FIRST(registers, 0xb020000)}},
    {REGISTERS, 0x8120000, {SET(partitions[0].vcpu_count, 5), FIRST(registers, 0x8120000)}},
    /* The pages and windows that the partition has as the back-end of an earlier device. */
    {REGISTERS, 0x800000000, {SECOND(registers, 0x800000000)}},
    {REGISTERS, 0x821000000, {SECOND(registers, 0x821000000)}},

    {PAGE, 0x800000010, {FIRST(page, 0x800000010)}},
    {PAGE, UINT64_C(1) << 39, {FIRST(page, UINT64_C(1) << 39)}},
    {PAGE, 0x50000000, {FIRST(page, 0x50000000)}},
    {PAGE, 0x600000000, {FIRST(page, 0x600000000)}}, /* a channel */
    {PAGE, 0x9010000, {SECOND(page, 0x9010000)}},
    {PAGE, 0xa000000, {SECOND(page, 0xa000000)}}, /* the registers of the other device */

    {INTERRUPT, 0, {FIRST(interrupt, 0)}},
    {INTERRUPT, 15, {FIRST(interrupt, 15)}},
    {INTERRUPT, 1020, {FIRST(interrupt, 1020)}},
    {INTERRUPT, UINT32_MAX, {FIRST(interrupt, UINT32_MAX)}},
    {INTERRUPT, 34, {FIRST(interrupt, 34)}}, /* level-sensitive */
    {INTERRUPT, 40, {FIRST(interrupt, 40)}}, /* the console's */
    {INTERRUPT, 58, {FIRST(interrupt, 58)}}, /* the other partition's */
    {INTERRUPT, 51, {SET(movables[0].interrupt, 51), FIRST(interrupt, 51)}},
    {NULL, 0, {FIRST(interrupt, 51)}},
    {INTERRUPT, 50, {FIRST(interrupt, 50)}},  /* a channel's */
    {INTERRUPT, 58, {SECOND(interrupt, 58)}}, /* the other device's doorbell */
    {DOORBELL, 56, {SECOND(doorbell, 56)}},   /* the other device's interrupt */
    {DOORBELL, 0, {FIRST(doorbell, 0)}},
    {DOORBELL, 35, {FIRST(doorbell, 35)}},
    {DOORBELL, 57, {FIRST(doorbell, 57)}},
    {DOORBELL,
     1019,
     {SET(partitions[1].health.watchdog, 0x9200000),
      SET(partitions[1].health.watchdog_interrupt, 1019), FIRST(doorbell, 1019)}},
    {NULL, 0, {FIRST(doorbell, 1019)}},

    {WINDOW, 0x800, {FIRST(windows[0].client, 0x800)}},
    {WINDOW, 0, {FIRST(windows[0].bytes, 0)}},
    {WINDOW, 0, {FIRST(windows[0].bytes, 0x800)}},
    {WINDOW, 0x100000, {FIRST(windows[1].bytes, 0x1f01000)}},
    {WINDOW, 0x100000, {FIRST(windows[1].bytes, 0xfffffffffff00000)}},
    {WINDOW, 0x101000, {FIRST(windows[1].client, 0x101000)}},
    {WINDOW, 0x2000000, {FIRST(windows[1].client, 0x2000000)}},
    {WINDOW, 0x4fff0000, {SECOND(windows[0].client, 0x4fff0000)}},
    {WINDOW, 0x50000000, {SET(partitions[1].memories[0].kept, 1)}},
    {NULL, 0, {FIRST(windows[1].bytes, 0x1000)}},
    /* Staging at the end of the client's memory. */
    {WINDOW, 0x50000000, {SET(manager.staging, 0x5f000000), SET(manager.staging_bytes, 0x1000000)}},
    {NULL, 0, {SET(manager.staging, 0x41000000), SET(manager.staging_bytes, 0)}},
    {PLACE, 0x810000001, {FIRST(windows[0].backend, 0x810000001)}},
    {PLACE, 0x7ffffff000, {FIRST(windows[0].backend, 0x7ffffff000)}},
    {NULL, 0, {FIRST(windows[0].backend, 0x7ffff00000)}},
    {PLACE, 0x5ff00000, {FIRST(windows[0].backend, 0x5ff00000)}},   /* memory */
    {PLACE, 0x800000000, {FIRST(windows[0].backend, 0x800000000)}}, /* its own page */
    {PLACE, 0x8100ff000, {FIRST(windows[1].backend, 0x8100ff000)}}, /* the other window */
    {PLACE, 0x9f00000, {SECOND(windows[0].backend, 0x9f00000)}},
    {PLACE, 0x1000000, {SECOND(windows[0].backend, 0x1000000)}},
};

static void make(struct description *description)
{
    description_make_served(description);
    description->partitions[0].interrupts[1] |= 1u << 19;
    description->movable_count = 1;
}

static void test_faults(void **state)
{
    (void)state;
    description_expect_faults(faults, sizeof(faults) / sizeof(faults[0]), make,
                              shared_device_check);
}

/* Many devices of one back-end, and of one client, each with a window of one page. */
static void test_many(void **state)
{
    static struct description description;
    uint64_t value = 0;

    (void)state;
    description_make_served(&description);
    description.partitions[0].interrupts[4] = description.partitions[0].edges[4] = 0xffff;
    description.partitions[1].interrupts[5] = description.partitions[1].edges[5] = 0xffff;
    description.shared_device_count = DESCRIPTION_SHARED_DEVICES_MAX;
    for (uint32_t i = 0; i < DESCRIPTION_SHARED_DEVICES_MAX; i++) {
        struct description_shared_device *device = &description.shared_devices[i];

        *device = description.shared_devices[0];
        device->physical += i * UINT64_C(0x2000);
        device->registers += i * UINT64_C(0x1000);
        device->page += i * UINT64_C(0x1000);
        device->interrupt = 128 + i;
        device->doorbell = 160 + i;
        device->window_count = 1;
        device->windows[0] = (struct description_window){
            .client = 0x3000, .backend = 0x810000000 + i * UINT64_C(0x1000), .bytes = 0x1000};
        device->windows[1] = (struct description_window){.bytes = 0};
    }
    assert_null(shared_device_check(&description, &value));
    description.shared_devices[15].windows[0].backend -= 0x1000;
    assert_non_null(shared_device_check(&description, &value));
    assert_int_equal(value, 0x81000e000);
}

static void test_no_devices(void **state)
{
    static struct description description;
    uint64_t value = 0;

    (void)state;
    description_make(&description);
    assert_null(shared_device_check(&description, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_devices),
    };

    return cmocka_run_group_tests_name("shared_device_check", tests, NULL, NULL);
}
