/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the PCI functions of channels: configuration space, registers and interrupts, as guests
 * reach them by accesses to the PCI host. */
#include "channel/channel.h"

#include "channel/region.h"
#include "emulated_function/host.h"
#include "emulated_function/interrupt.h"
#include "gic/doorbell.h"
#include "gic/setup.h"
#include "hypercall/channel.h"
#include "partition/load.h"
#include <arch/channel.h>
#include <arch/device_access.h>
#include <arch/hypercalls.h>
#include <devices/pci_registers.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PARTITIONS   3u
#define CHANNELS     4u
#define HOST         UINT64_C(0x0c000000)
#define WINDOW       (HOST + DESCRIPTION_HOST_ECAM_BYTES)
#define WINDOW_END   (WINDOW + DESCRIPTION_HOST_WINDOW_BYTES)
#define BAR          (WINDOW + 0x3000)
#define SECTION      UINT64_C(0x11000)
#define GUEST        UINT64_C(0x1234567000)
#define RANDOM_STEPS 200000u

/* Registers of BAR 0, and their offsets in ivshmem's capability (Jailhouse's specification). */
#define ID        0x0u
#define PEERS     0x4u
#define INTERRUPT 0x8u
#define DOORBELL  0xCu
#define STATE     0x10u
#define VENDOR    0x40u

static struct description description;
static struct partition partitions[PARTITIONS];
static _Alignas(4096) uint32_t pages[CHANNELS][1024];
static uint32_t rung[64];    /* how often a doorbell that is no function's rang, by interrupt */
static uint32_t pending[64]; /* how often a function's interrupt was made pending */
static uint32_t published;   /* how often this core's writes were made visible */
static uint64_t cleaned;

void doorbell_ring(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &description);
    rung[interrupt]++;
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &description);
    assert_int_not_equal(published, 0);
    pending[interrupt]++;
}

void device_publish(void)
{
    published++;
}

void load_clean(uint64_t at, uint64_t end)
{
    assert_int_equal(end - at, 4);
    cleaned = at;
}

/* Partition 0 has functions of channels 0 and 2, and a plain end of channel 1. Partition 1 has
 * plain ends, and a function of channel 3, whose other end is a function of partition 2. */
static int setup(void **state)
{
    static const uint32_t ends[CHANNELS][2] = {{0, 1}, {1, 0}, {1, 0}, {1, 2}};
    static const uint32_t functions[CHANNELS][2] = {{1, 0}, {0, 0}, {0, 1}, {1, 1}};

    (void)state;
    memset(&description, 0, sizeof(description));
    memset(partitions, 0, sizeof(partitions));
    memset(pages, 0, sizeof(pages));
    memset(rung, 0, sizeof(rung));
    memset(pending, 0, sizeof(pending));
    published = 0;
    cleaned = 0;
    description.partition_count = PARTITIONS;
    description.channel_count = CHANNELS;
    for (uint32_t i = 0; i < CHANNELS; i++) {
        struct description_channel *channel = &description.channels[i];

        *channel = (struct description_channel){
            .physical = (uintptr_t)pages[i],
            .section_bytes = SECTION,
        };
        for (uint32_t end = 0; end < 2; end++) {
            channel->ends[end] = (struct description_channel_end){
                .partition = ends[i][end],
                .interrupt = 40 + 2 * i + end,
                .guest = GUEST + (i << 28),
                .function = functions[i][end],
            };
        }
    }
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].constant.system = &description;
        partitions[i].constant.described = &description.partitions[i];
        partitions[i].constant.index = i;
        description.partitions[i].channel_host = HOST;
    }
    return 0;
}

static enum access_result access_by(uint32_t partition, uint64_t address, unsigned bytes,
                                    bool is_write, uint64_t *value)
{
    struct access access = {.value = *value, .bytes = (uint8_t)bytes, .write = is_write};
    enum access_result result = ACCESS_AGAIN;

    assert_true(function_host_access(&partitions[partition], address, &access, &result));
    *value = access.value;
    return result;
}

static uint64_t config(uint32_t device, uint32_t at)
{
    return HOST + device * UINT64_C(0x8000) + at;
}

static uint32_t read_by(uint32_t partition, uint64_t address, unsigned bytes)
{
    uint64_t value = 0;

    assert_int_equal(access_by(partition, address, bytes, false, &value), ACCESS_DONE);
    return (uint32_t)value;
}

static void write_by(uint32_t partition, uint64_t address, unsigned bytes, uint64_t value)
{
    assert_int_equal(access_by(partition, address, bytes, true, &value), ACCESS_DONE);
}

static void expect_refused(uint32_t partition, uint64_t address, unsigned bytes, uint64_t as_read)
{
    uint64_t value = 0;

    assert_int_equal(access_by(partition, address, bytes, false, &value), ACCESS_REFUSED);
    assert_int_equal(value, as_read);
    value = UINT64_MAX >> (64 - 8 * bytes);
    assert_int_equal(access_by(partition, address, bytes, true, &value), ACCESS_REFUSED);
}

/* Gives a function its BAR 0, and enables it. */
static void enable(uint32_t partition, uint32_t device, uint64_t bar)
{
    write_by(partition, config(device, PCI_BAR), 4, bar);
    write_by(partition, config(device, PCI_COMMAND), 2, PCI_COMMAND_MEMORY);
}

static uint32_t sum(const uint32_t counts[64])
{
    uint32_t all = 0;

    for (unsigned i = 0; i < 64; i++) {
        all += counts[i];
    }
    return all;
}

static void functions_have_the_layout_of_ivshmem(void **state)
{
    static const struct {
        uint32_t at, value;
    } registers[] = {
        {0x00, 0x4106110a},
        {0x04, 0x00100000},
        {0x08, 0xff000000},
        {0x0c, 0},
        {0x10, 0},
        {0x14, 0},
        {0x18, 0},
        {0x1c, 0},
        {0x20, 0},
        {0x24, 0},
        {0x28, 0},
        {0x2c, 0x4106110a},
        {0x30, 0},
        {0x34, 0x40},
        {0x38, 0},
        {0x3c, 0x100},
        /* Vendor-specific: sizes of the state table, of the common section, and of an output
         * section; the address. */
        {0x40, 0x00206009},
        {0x44, 0x1000},
        {0x48, 0x3000},
        {0x4c, 0},
        {0x50, 0x11000},
        {0x54, 0},
        {0x58, 0x54567000},
        {0x5c, 0x12},
        /* Enhanced allocation: one entry, for BAR 2. */
        {0x60, 0x00010014},
        {0x64, 0x80ff0124},
        {0x68, 0x54567002},
        {0x6c, 0x00025ffe},
        {0x70, 0x12},
        {0x74, 0},
        {0x78, 0},
        {0xfc, 0},
        {0x100, 0}, /* no extended capabilities */
        {0xffc, 0},
    };

    (void)state;
    description.channels[2].common_pages = 3;
    for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        uint32_t at = registers[i].at, value = registers[i].value;

        assert_int_equal(read_by(0, config(2, at), 4), value);
        for (unsigned part = 0; part < 4; part++) {
            assert_int_equal(read_by(0, config(2, at + part), 1), value >> 8 * part & 0xff);
        }
        assert_int_equal(read_by(0, config(2, at), 2), value & 0xffff);
        assert_int_equal(read_by(0, config(2, at + 2), 2), value >> 16);
    }
}

/* The guest maps the memory at the address that the vendor-specific capability tells. */
static void a_function_may_have_no_memory(void **state)
{
    (void)state;
    description.channels[0].ends[0].function = DESCRIPTION_CHANNEL_FUNCTION_CONTROL;
    assert_int_equal(read_by(0, config(0, VENDOR), 2), 0x09); /* and no capability follows */
    assert_int_equal(read_by(0, config(0, VENDOR + 0x18), 4), (uint32_t)GUEST);
    assert_int_equal(read_by(0, config(0, VENDOR + 0x1c), 4), GUEST >> 32);
    write_by(0, config(0, PCI_BAR), 4, BAR);
    write_by(0, config(0, PCI_COMMAND), 2, PCI_COMMAND_MEMORY);
    assert_int_equal(read_by(0, BAR + PEERS, 4), 2);
    write_by(0, BAR + DOORBELL, 4, 1u << 16);
    assert_int_equal(rung[41], 1);
}

static void one_way_has_one_section(void **state)
{
    (void)state;
    description.channels[0].one_way = 1;
    assert_int_equal(read_by(0, config(0, 0x6c), 4), 0x00011ffe);
}

static void large_regions_have_64_bits(void **state)
{
    (void)state;
    description.channels[0].section_bytes = UINT64_C(0x180000000);
    assert_int_equal(read_by(0, config(0, 0x50), 4), 0x80000000);
    assert_int_equal(read_by(0, config(0, 0x54), 4), 1);
    assert_int_equal(read_by(0, config(0, 0x6c), 4), 0xffe);
    assert_int_equal(read_by(0, config(0, 0x74), 4), 3);
}

static void others_are_absent(void **state)
{
    (void)state;
    for (uint32_t device = 0; device < 32; device++) {
        for (uint32_t function = 0; function < 8; function++) {
            if (function == 0 && (device == 0 || device == 2)) {
                continue;
            }
            expect_refused(0, config(device, function << 12), 4, 0xffffffff);
            expect_refused(0, config(device, function << 12 | 0xfff), 1, 0xff);
        }
    }
    expect_refused(0, config(0, 0), 8, UINT64_MAX);
    /* Partition 1 has plain ends of the channels of partition 0. */
    expect_refused(1, config(0, 0), 2, 0xffff);
    expect_refused(1, config(2, 0), 2, 0xffff);
    assert_int_equal(read_by(1, config(3, 0), 2), 0x110a);
    assert_int_equal(read_by(2, config(3, 0), 2), 0x110a);
}

static void addresses_outside_are_not_the_hosts(void **state)
{
    struct access access = {.bytes = 4};
    enum access_result result;

    (void)state;
    assert_false(function_host_access(&partitions[0], HOST - 4, &access, &result));
    assert_false(function_host_access(&partitions[0], WINDOW_END, &access, &result));
    assert_true(function_host_access(&partitions[0], WINDOW_END - 4, &access, &result));
    description.partitions[0].channel_host = 0;
    assert_false(function_host_access(&partitions[0], HOST, &access, &result));
    assert_false(function_host_access(&partitions[0], 0, &access, &result));
}

/* A process of Linux can reach the host by the files of a function, and all of a DAX device, which
 * begins and ends at multiples of 2 MiB. */
static void a_process_reaches_what_is_near(void **state)
{
    const uint64_t block = UINT64_C(2) << 20;
    const uint64_t start = GUEST & -block, end = start + 2 * block;

    (void)state;
    description.channels[0].section_bytes = UINT64_C(0x100000); /* ends in the next block */
    description.channels[0].ends[0].function = DESCRIPTION_CHANNEL_FUNCTION_CONTROL;
    assert_false(function_host_has_near(&partitions[0], HOST - 1));
    assert_true(function_host_has_near(&partitions[0], HOST));
    assert_true(function_host_has_near(&partitions[0], WINDOW_END - 1));
    assert_false(function_host_has_near(&partitions[0], WINDOW_END));
    assert_false(function_host_has_near(&partitions[0], start - 1));
    assert_true(function_host_has_near(&partitions[0], start));
    assert_true(function_host_has_near(&partitions[0], end - 1));
    assert_false(function_host_has_near(&partitions[0], end));
    /* A channel that is no function, and one of other partitions. */
    assert_false(function_host_has_near(&partitions[0], GUEST + (UINT64_C(1) << 28)));
    assert_false(function_host_has_near(&partitions[0], GUEST + (UINT64_C(3) << 28)));
    assert_true(function_host_has_near(&partitions[2], GUEST + (UINT64_C(3) << 28)));
    description.partitions[0].channel_host = 0;
    assert_false(function_host_has_near(&partitions[0], 0));
    assert_false(function_host_has_near(&partitions[0], UINT64_MAX));
}

static void few_bits_can_be_written(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < PCI_CONFIG_BYTES; at += 4) {
        uint32_t before = read_by(0, config(0, at), 4), after, writable = 0;
        uint64_t value = UINT32_MAX;

        writable = at == PCI_COMMAND ? 0x406 : at == PCI_BAR ? 0xfffff000 : 0;
        writable = at == VENDOR ? 0x01000000 : writable;
        assert_int_equal(access_by(0, config(0, at), 4, true, &value),
                         writable != 0 ? ACCESS_DONE : ACCESS_REFUSED);
        after = read_by(0, config(0, at), 4);
        assert_int_equal(after, before | writable);
        value = 0;
        (void)access_by(0, config(0, at), 4, true, &value);
        assert_int_equal(read_by(0, config(0, at), 4), before & ~writable);
    }
}

static void parts_of_a_dword_are_written_alone(void **state)
{
    (void)state;
    write_by(0, config(0, PCI_BAR + 1), 1, 0xff);
    assert_int_equal(read_by(0, config(0, PCI_BAR), 4), 0xf000);
    write_by(0, config(0, PCI_BAR + 2), 2, 0x1234);
    assert_int_equal(read_by(0, config(0, PCI_BAR), 4), 0x1234f000);
    write_by(0, config(0, PCI_COMMAND + 1), 1, 4); /* as uio_pci_generic's users do */
    write_by(0, config(0, PCI_COMMAND), 1, 2);
    assert_int_equal(read_by(0, config(0, PCI_COMMAND), 2), 0x402);
    write_by(0, config(0, PCI_COMMAND + 1), 1, 0);
    assert_int_equal(read_by(0, config(0, PCI_COMMAND), 2), 2);
    write_by(0, config(0, PCI_STATUS), 2, 0xffff); /* changes nothing */
    assert_int_equal(read_by(0, config(0, PCI_COMMAND), 4), 0x00100002);
    write_by(0, config(0, VENDOR), 2, 0xffff);
    assert_int_equal(read_by(0, config(0, VENDOR), 4), 0x00206009);
    write_by(0, config(0, VENDOR + 3), 1, 0xff);
    assert_int_equal(read_by(0, config(0, VENDOR), 4), 0x01206009);
    write_by(0, config(0, VENDOR), 2, 0);
    assert_int_equal(read_by(0, config(0, VENDOR), 4), 0x01206009);
}

static void registers_are_where_the_bar_is(void **state)
{
    (void)state;
    expect_refused(0, BAR, 4, 0xffffffff);
    write_by(0, config(2, PCI_BAR), 4, BAR);
    expect_refused(0, BAR, 4, 0xffffffff); /* not enabled */
    write_by(0, config(2, PCI_COMMAND), 2, PCI_COMMAND_MEMORY);
    assert_int_equal(read_by(0, BAR + ID, 4), 1);
    assert_int_equal(read_by(0, BAR + PEERS, 4), 2);
    expect_refused(0, BAR - 4, 4, 0xffffffff);
    expect_refused(0, BAR + 0x1000, 4, 0xffffffff);
    enable(0, 0, WINDOW);
    assert_int_equal(read_by(0, WINDOW + ID, 4), 0);
    write_by(0, config(2, PCI_BAR), 4, BAR + 0x1000); /* moved */
    expect_refused(0, BAR, 4, 0xffffffff);
    assert_int_equal(read_by(0, BAR + 0x1000 + ID, 4), 1);
    write_by(0, config(2, PCI_COMMAND), 2, 0);
    expect_refused(0, BAR + 0x1000, 4, 0xffffffff);
}

static void registers_have_32_bits(void **state)
{
    (void)state;
    enable(0, 0, BAR);
    for (uint32_t at = 0; at < 4096; at += 4) {
        if (at > STATE) {
            expect_refused(0, BAR + at, 4, 0);
        }
        expect_refused(0, BAR + at, 1, 0);
        expect_refused(0, BAR + at + 3, 1, 0);
        expect_refused(0, BAR + at + 2, 2, 0);
        if (at % 8 == 0) {
            expect_refused(0, BAR + at, 8, 0);
        }
    }
    assert_int_equal(sum(rung) + sum(pending), 0);
    assert_int_equal(pages[0][0] | pages[0][1], 0);
    assert_int_equal(read_by(0, BAR + DOORBELL, 4), 0);
}

static void doorbell_rings_the_other_end(void **state)
{
    (void)state;
    enable(0, 0, BAR);
    enable(0, 2, WINDOW);
    write_by(0, BAR + DOORBELL, 4, 0x10000);
    assert_int_equal(rung[41], 1);
    write_by(0, WINDOW + DOORBELL, 4, 0); /* this one is end 1 of its channel */
    assert_int_equal(rung[44], 1);
    write_by(0, BAR + DOORBELL, 4, 0);       /* itself */
    write_by(0, BAR + DOORBELL, 4, 0x20000); /* nobody */
    write_by(0, BAR + DOORBELL, 4, 0x10001); /* vector 1 */
    write_by(0, BAR + ID, 4, 0x10000);
    write_by(0, BAR + PEERS, 4, 0x10000);
    assert_int_equal(sum(rung), 2);
    assert_int_equal(sum(pending), 0);
}

static void state_is_shown_to_the_other_end(void **state)
{
    (void)state;
    enable(0, 2, BAR);
    write_by(0, BAR + STATE, 4, 77);
    assert_int_equal(pages[2][1], 77);
    assert_int_equal(pages[2][0], 0);
    assert_int_equal(cleaned, (uintptr_t)&pages[2][1]);
    assert_int_equal(rung[44], 1);
    assert_int_equal(read_by(0, BAR + STATE, 4), 77);
    write_by(0, BAR + STATE, 4, 77); /* no change */
    assert_int_equal(rung[44], 1);
    write_by(0, BAR + STATE, 4, 0);
    assert_int_equal(rung[44], 2);
}

static void end_all(unsigned partition)
{
    uint32_t index = 0;

    while (channel_end(&partitions[partition], &index) == STEP_PENDING) {
    }
}

/* It could delay the sender, or tell it something. */
static void receiver_of_one_way_reaches_nobody(void **state)
{
    const struct vcpu vcpu = {.partition = &partitions[0]};

    (void)state;
    description.channels[1].one_way = 1;
    description.channels[2].one_way = 1;
    enable(0, 2, BAR);
    write_by(0, BAR + DOORBELL, 4, 0);
    write_by(0, BAR + STATE, 4, 77);
    assert_int_equal(read_by(0, BAR + STATE, 4), 0);
    assert_int_equal(channel_notify(&vcpu, 1), 0);
    assert_int_equal(channel_set_state(&vcpu, 1, 77), 0);
    end_all(0);
    assert_int_equal(pages[1][1], 0);
    assert_int_equal(pages[2][1], 0);
    assert_int_equal(rung[42] + rung[44], 0);
}

static void notify(uint32_t partition, uint32_t channel);

/* Channel 1, from partition 1 to partitions 0 and 2. Its hidden page is that of channel 3. */
static void connect_two_receivers(void)
{
    struct description_channel *channel = &description.channels[1];

    description.channel_count = 2;
    channel->one_way = 1;
    channel->section_bytes = sizeof(pages[2]);
    channel->further_receivers = 1;
    channel->ends[2] = (struct description_channel_end){
        .partition = 2,
        .interrupt = 50,
        .guest = GUEST,
        .function = DESCRIPTION_CHANNEL_FUNCTION_WHOLE,
    };
}

static void all_receivers_are_rung(void **state)
{
    (void)state;
    connect_two_receivers();
    notify(1, 1);
    assert_int_equal(rung[43], 1);
    assert_int_equal(pending[50], 0); /* its guest has not enabled it */
    enable(2, 1, BAR);
    write_by(2, BAR + INTERRUPT, 4, 1);
    notify(1, 1);
    assert_int_equal(rung[43], 2);
    assert_int_equal(pending[50], 1);
}

/* Neither the sender nor the other receiver sees anything that a receiver does. */
static void receivers_show_nothing_to_each_other(void **state)
{
    static const uint32_t zeroes[1024];
    const struct vcpu vcpu = {.partition = &partitions[0]};

    (void)state;
    connect_two_receivers();
    enable(2, 1, BAR);
    assert_int_equal(read_by(2, BAR + ID, 4), 1);
    write_by(2, BAR + DOORBELL, 4, 0);
    write_by(2, BAR + DOORBELL, 4, 1u << 16);
    write_by(2, BAR + STATE, 4, 77);
    assert_int_equal(read_by(2, BAR + STATE, 4), 0);
    assert_int_equal(channel_notify(&vcpu, 1), 0);
    assert_memory_equal(pages[1], zeroes, sizeof(zeroes));
    assert_memory_equal(pages[2], zeroes, sizeof(zeroes));
    assert_memory_not_equal(pages[3], zeroes, sizeof(zeroes));
    end_all(2);
    end_all(0);
    assert_int_equal(rung[42] + rung[43] + pending[50], 0);
    assert_memory_equal(pages[1], zeroes, sizeof(zeroes));
}

static void notify(uint32_t partition, uint32_t channel)
{
    const struct vcpu vcpu = {.partition = &partitions[partition]};

    published = 0;
    assert_int_equal(channel_notify(&vcpu, channel), 0);
    assert_int_not_equal(published, 0);
}

static bool has_status(uint32_t partition, uint32_t device)
{
    return (read_by(partition, config(device, PCI_STATUS), 2) & PCI_STATUS_INTERRUPT) != 0;
}

static void interrupts_come_if_enabled(void **state)
{
    (void)state;
    enable(0, 0, BAR);
    notify(1, 0);
    assert_int_equal(sum(pending), 0);
    write_by(0, BAR + INTERRUPT, 4, UINT32_MAX);
    assert_int_equal(read_by(0, BAR + INTERRUPT, 4), 1);
    assert_int_equal(sum(pending), 0); /* what rang before is lost */
    assert_false(has_status(0, 0));
    notify(1, 0);
    assert_int_equal(pending[40], 1);
    notify(1, 0); /* without one-shot mode there is nothing to acknowledge */
    assert_int_equal(pending[40], 2);
    write_by(0, BAR + INTERRUPT, 4, 0xfffffffe);
    assert_int_equal(read_by(0, BAR + INTERRUPT, 4), 0);
    notify(1, 0);
    assert_int_equal(sum(pending), 2);
    assert_int_equal(sum(rung), 0);
}

static void changes_are_visible_before_the_guest_goes_on(void **state)
{
    (void)state;
    enable(0, 0, BAR);
    published = 0;
    write_by(0, BAR + INTERRUPT, 4, 1);
    assert_int_equal(published, 1);
    write_by(0, config(0, PCI_COMMAND), 2, PCI_COMMAND_MEMORY);
    assert_int_equal(published, 2);
}

static void state_interrupts_a_function(void **state)
{
    const struct vcpu vcpu = {.partition = &partitions[1]};

    (void)state;
    enable(0, 0, BAR);
    write_by(0, BAR + INTERRUPT, 4, 1);
    assert_int_equal(channel_set_state(&vcpu, 0, 5), 0);
    assert_int_equal(pending[40], 1);
    assert_int_equal(pages[0][1], 5);
}

/* As uio_pci_generic handles an interrupt: it sets INTx Disable if Interrupt Status is set. */
static void intx_disable_answers_an_interrupt(void **state)
{
    (void)state;
    enable(0, 0, BAR);
    write_by(0, BAR + INTERRUPT, 4, 1);
    notify(1, 0);
    assert_true(has_status(0, 0));
    write_by(0, config(0, PCI_COMMAND), 2, PCI_COMMAND_MEMORY | PCI_COMMAND_INTX_DISABLE);
    assert_false(has_status(0, 0));
    notify(1, 0);
    assert_int_equal(sum(pending), 1);
    assert_false(has_status(0, 0));
    write_by(0, config(0, PCI_COMMAND + 1), 1, 0);
    assert_int_equal(sum(pending), 1);
    notify(1, 0);
    assert_int_equal(sum(pending), 2);
    assert_true(has_status(0, 0));
    write_by(0, config(0, PCI_COMMAND), 1, PCI_COMMAND_MEMORY); /* the other half of Command */
    assert_true(has_status(0, 0));
}

static void one_shot_clears_the_enable(void **state)
{
    (void)state;
    enable(0, 0, BAR);
    write_by(0, config(0, VENDOR + 3), 1, 1);
    write_by(0, BAR + INTERRUPT, 4, 1);
    notify(1, 0);
    notify(1, 0);
    assert_int_equal(pending[40], 1);
    assert_int_equal(read_by(0, BAR + INTERRUPT, 4), 0);
    write_by(0, BAR + INTERRUPT, 4, 1);
    assert_int_equal(pending[40], 1);
    notify(1, 0);
    assert_int_equal(pending[40], 2);
}

static void functions_ring_each_other(void **state)
{
    (void)state;
    enable(1, 3, BAR);
    enable(2, 3, WINDOW);
    write_by(1, BAR + DOORBELL, 4, 0x10000);
    assert_int_equal(sum(pending), 0);
    write_by(2, WINDOW + INTERRUPT, 4, 1);
    write_by(1, BAR + DOORBELL, 4, 0x10000);
    assert_int_equal(pending[47], 1);
    write_by(2, WINDOW + DOORBELL, 4, 0);
    assert_int_equal(sum(pending), 1);
    assert_true(has_status(2, 3));
    assert_false(has_status(1, 3));
    assert_int_equal(sum(rung), 0);
}

static void end_resets_functions(void **state)
{
    (void)state;
    enable(0, 0, BAR);
    write_by(0, config(0, VENDOR + 3), 1, 1);
    write_by(0, BAR + INTERRUPT, 4, 1);
    write_by(0, BAR + STATE, 4, 9);
    notify(1, 0);
    write_by(0, BAR + INTERRUPT, 4, 1);
    enable(1, 3, BAR);
    memset(&pages[1][2], 0xa5, sizeof(pages[1]) - 8); /* a channel without functions */
    end_all(0);
    assert_int_equal(read_by(0, config(0, PCI_COMMAND), 4), 0x00100000);
    assert_int_equal(read_by(0, config(0, PCI_BAR), 4), 0);
    assert_int_equal(read_by(0, config(0, VENDOR), 4), 0x00206009);
    expect_refused(0, BAR, 4, 0xffffffff);
    assert_int_equal(pages[0][0], 0);
    assert_int_equal(pages[1][2], 0xa5a5a5a5);
    notify(1, 0);
    assert_int_equal(pending[40], 1);
    assert_int_equal(read_by(1, BAR + PEERS, 4), 2);
}

/* Checks that other partitions' ends are as before, and that the caller has no interrupt. */
static void expect_unchanged(uint32_t caller, const uint32_t before[CHANNELS][1024])
{
    for (uint32_t i = 0; i < CHANNELS; i++) {
        const struct channel_page *now = (const struct channel_page *)pages[i],
                                  *then = (const struct channel_page *)before[i];

        for (uint32_t end = 0; end < 2; end++) {
            const struct description_channel_end *described = &description.channels[i].ends[end];

            if (described->partition != caller) {
                assert_int_equal(now->states.ends[end], then->states.ends[end]);
                assert_int_equal(now->functions[end].bar, then->functions[end].bar);
                assert_int_equal(now->functions[end].command, then->functions[end].command);
                /* A doorbell sets the status, and clears the enable in one-shot mode. */
                assert_int_equal((now->functions[end].interrupt ^ then->functions[end].interrupt) &
                                     (FUNCTION_INTX_DISABLE | FUNCTION_ONE_SHOT),
                                 0);
            } else {
                assert_int_equal(pending[described->interrupt] + rung[described->interrupt], 0);
            }
        }
        assert_memory_equal(now + 1, then + 1, sizeof(pages[i]) - sizeof(*now));
    }
}

static uint32_t next_random(uint32_t limit)
{
    static uint64_t random = 1;

    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random >> 33) % limit;
}

/* Returns an address of the host, of which one in two is that of a register in use. */
static uint64_t any_address(void)
{
    static const uint32_t at[] = {PCI_COMMAND, PCI_BAR, VENDOR, PCI_INTERRUPT, 0, 0x64};

    switch (next_random(4)) {
    case 0:
        return config(next_random(CHANNELS + 1), at[next_random(6)] + next_random(4));
    case 1:
        return WINDOW + next_random(2) * UINT64_C(0x1000) + next_random(STATE + 8);
    case 2:
        return config(next_random(32), next_random(0x8000));
    default:
        return WINDOW + next_random((uint32_t)DESCRIPTION_HOST_WINDOW_BYTES);
    }
}

static uint64_t any_value(void)
{
    switch (next_random(4)) {
    case 0:
        return WINDOW + next_random(2) * UINT64_C(0x1000);
    case 1:
        return next_random(2) * UINT64_C(0x10000);
    case 2:
        return next_random(8);
    default:
        return (uint64_t)next_random(UINT32_MAX) << 32 | next_random(UINT32_MAX);
    }
}

/* Accesses of all widths to any address change the caller's own functions and states only, and
 * interrupt no more than one other end. */
static void no_access_reaches_others(void **state)
{
    static uint32_t before[CHANNELS][1024];
    uint32_t interrupted = 0;

    (void)state;
    for (unsigned i = 0; i < RANDOM_STEPS; i++) {
        uint32_t caller = next_random(PARTITIONS);
        unsigned bytes = 1u << next_random(4);
        uint64_t address = any_address(), value = any_value();

        address -= address % bytes;
        value &= UINT64_MAX >> (64 - 8 * bytes);
        memcpy(before, pages, sizeof(pages));
        memset(rung, 0, sizeof(rung));
        memset(pending, 0, sizeof(pending));
        (void)access_by(caller, address, bytes, next_random(4) != 0, &value);
        assert_int_equal(value & ~(UINT64_MAX >> (64 - 8 * bytes)), 0);
        expect_unchanged(caller, (const uint32_t(*)[1024])before);
        assert_in_range(sum(rung) + sum(pending), 0, 1);
        interrupted += sum(pending);
    }
    assert_int_not_equal(interrupted, 0); /* the addresses and values do reach functions */
}

/* The functions of channels share the lock of configuration space with a partition's other
 * functions, of which one may be slow. */
static void accesses_beside_a_slow_function_are_repeated(void **state)
{
    struct ticket_lock *lock = &partitions[0].functions.lock;
    uint64_t value = PCI_COMMAND_MEMORY;

    (void)state;
    partitions[0].constant.shares_cores = true;
    assert_true(ticket_lock_try(lock));
    assert_int_equal(access_by(0, config(0, PCI_COMMAND), 2, true, &value), ACCESS_AGAIN);
    assert_int_equal(access_by(0, config(0, PCI_COMMAND), 2, false, &value), ACCESS_AGAIN);
    ticket_lock_give(lock);
    assert_int_equal(read_by(0, config(0, PCI_COMMAND), 2), 0);
    write_by(0, config(0, PCI_COMMAND), 2, PCI_COMMAND_MEMORY);
    assert_int_equal(read_by(0, config(0, PCI_COMMAND), 2), PCI_COMMAND_MEMORY);
    assert_int_equal(lock->turn, lock->next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(functions_have_the_layout_of_ivshmem, setup),
        cmocka_unit_test_setup(a_function_may_have_no_memory, setup),
        cmocka_unit_test_setup(one_way_has_one_section, setup),
        cmocka_unit_test_setup(large_regions_have_64_bits, setup),
        cmocka_unit_test_setup(others_are_absent, setup),
        cmocka_unit_test_setup(addresses_outside_are_not_the_hosts, setup),
        cmocka_unit_test_setup(a_process_reaches_what_is_near, setup),
        cmocka_unit_test_setup(few_bits_can_be_written, setup),
        cmocka_unit_test_setup(parts_of_a_dword_are_written_alone, setup),
        cmocka_unit_test_setup(registers_are_where_the_bar_is, setup),
        cmocka_unit_test_setup(registers_have_32_bits, setup),
        cmocka_unit_test_setup(accesses_beside_a_slow_function_are_repeated, setup),
        cmocka_unit_test_setup(doorbell_rings_the_other_end, setup),
        cmocka_unit_test_setup(state_is_shown_to_the_other_end, setup),
        cmocka_unit_test_setup(receiver_of_one_way_reaches_nobody, setup),
        cmocka_unit_test_setup(all_receivers_are_rung, setup),
        cmocka_unit_test_setup(receivers_show_nothing_to_each_other, setup),
        cmocka_unit_test_setup(interrupts_come_if_enabled, setup),
        cmocka_unit_test_setup(changes_are_visible_before_the_guest_goes_on, setup),
        cmocka_unit_test_setup(state_interrupts_a_function, setup),
        cmocka_unit_test_setup(intx_disable_answers_an_interrupt, setup),
        cmocka_unit_test_setup(one_shot_clears_the_enable, setup),
        cmocka_unit_test_setup(functions_ring_each_other, setup),
        cmocka_unit_test_setup(end_resets_functions, setup),
        cmocka_unit_test_setup(no_access_reaches_others, setup),
    };

    return cmocka_run_group_tests_name("channel_function", tests, NULL, NULL);
}
