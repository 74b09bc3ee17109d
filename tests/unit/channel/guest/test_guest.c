/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends of channels in a partition, on a system that is a table: finding a channel in the
 * devicetree, mapping its memory, its kinds, and waiting for its doorbell. Both ends are here.
 */
#include "adapter.h"
#include "channel/copy.h"
#include <arch/channel.h>
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define STATE_BYTES   ((size_t)4096)
#define SECTION_BYTES (CHANNEL_CONTROL_BYTES + CHANNEL_RING_MIN)
#define INDEX         7u
#define SECOND        UINT64_C(1000000000)

/* Cells of a devicetree are big-endian. */
static const uint8_t zero[] = {0, 0, 0, 0}, one[] = {0, 0, 0, 1}, two[] = {0, 0, 0, 2};
static const uint8_t index_cell[] = {0, 0, 0, INDEX};
static const uint8_t section_cells[] = {0, 0, 0, 0, 0, 0, SECTION_BYTES >> 8, 0};
static const uint8_t odd_section_cells[] = {0, 0, 0, 0, 0, 0, SECTION_BYTES >> 8, 8};
static const uint8_t common_cells[] = {0, 0, 0, 0, 0, 0, STATE_BYTES >> 8, 0};
static const uint8_t huge_section_cells[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

_Static_assert(SECTION_BYTES >> 8 <= UINT8_MAX && SECTION_BYTES % 256 == 0, "see section_cells");

struct fake_system fake_system;

static uint8_t *region;

/* The hypervisor: end 0 is at line 0, end 1 at line 1. The test says which end calls. */
static unsigned caller;

struct hypervisor_answer hypervisor_call(uint32_t function, uint64_t first, uint64_t second,
                                         uint64_t third)
{
    struct channel_states *states = (struct channel_states *)region;

    assert_int_equal(first, INDEX);
    assert_int_equal(third, 0);
    if (function == CALL_CHANNEL_SET_STATE) {
        states->ends[caller] = (uint32_t)second;
    } else {
        assert_int_equal(function, CALL_CHANNEL_NOTIFY);
    }
    fake_ring(1 - caller);
    return (struct hypervisor_answer){0, 0};
}

static void set_property(int node, unsigned place, const char *name, const void *value,
                         unsigned bytes)
{
    fake_system.nodes[node].properties[place] = (struct fake_property){name, value, bytes};
}

/* Places of the properties. */
enum { LABEL, KIND, CHANNEL, END, SECTION, ONE_WAY, UNCACHED, COMMON = ONE_WAY };

/* Describes an end of the channel "pair". Node 0 is another device. */
static void describe(int node, const uint8_t *end)
{
    fake_system.nodes[node] = (struct fake_node){
        .compatible = "bulkhead,channel",
        .address = (uintptr_t)region,
        .bytes = STATE_BYTES + 2 * SECTION_BYTES,
        .has_interrupt = true,
        .line = end[3],
    };
    set_property(node, LABEL, "label", "pair", sizeof("pair"));
    set_property(node, KIND, "bulkhead,kind", "messages", sizeof("messages"));
    set_property(node, CHANNEL, "bulkhead,channel", index_cell, sizeof(index_cell));
    set_property(node, END, "bulkhead,end", end, sizeof(zero));
    set_property(node, SECTION, "bulkhead,section-bytes", section_cells, sizeof(section_cells));
}

static void make_one_way(void)
{
    set_property(1, ONE_WAY, "bulkhead,one-way", "", 0);
    fake_system.nodes[1].bytes = STATE_BYTES + SECTION_BYTES;
}

static int set_up(void **state)
{
    (void)state;
    region = aligned_alloc(STATE_BYTES, STATE_BYTES + 2 * SECTION_BYTES);
    assert_non_null(region);
    memset(region, 0, STATE_BYTES + 2 * SECTION_BYTES);
    caller = 0;
    fake_system = (struct fake_system){
        .has_devicetree = true,
        .node_count = 2,
        .mapping_limit = FAKE_MAPPINGS,
    };
    fake_system.nodes[0].compatible = "virtio,mmio";
    describe(1, zero);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(region);
    return 0;
}

static void test_a_channel_is_found_by_its_name(void **state)
{
    struct partition_channel channel;

    (void)state;
    assert_int_equal(partition_channel_open(&channel, "other"), GUEST_NOT_FOUND);
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_OK);
    assert_string_equal(channel.name, "pair");
    describe(2, one);
    fake_system.node_count = 3;
    set_property(2, LABEL, "label", "other", sizeof("other"));
    set_property(2, UNCACHED, "bulkhead,uncached", "", 0);
    assert_int_equal(partition_channel_open(&channel, "other"), GUEST_OK);
    assert_string_equal(channel.name, "other");
    assert_int_equal(channel.index, INDEX);
    assert_int_equal(channel.end, 1);
    assert_int_equal(channel.section_bytes, SECTION_BYTES);
    assert_true(channel.is_uncached && channel.has_interrupt);
    assert_false(channel.is_one_way || channel.has_values);
    fake_system.has_devicetree = false;
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_NO_DEVICETREE);
}

static void assert_mapped(unsigned number, size_t offset, uint64_t bytes, bool is_writable)
{
    const struct fake_mapping *mapping = &fake_system.mappings[number];

    assert_int_equal(mapping->address, (uintptr_t)region + offset);
    assert_int_equal(mapping->bytes, bytes);
    assert_int_equal(mapping->is_writable, is_writable);
}

static void test_only_the_own_section_is_writable(void **state)
{
    struct partition_channel channel;

    (void)state;
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_OK);
    assert_int_equal(fake_system.mapping_count, 3);
    assert_mapped(0, 0, STATE_BYTES, false);
    assert_mapped(1, STATE_BYTES, SECTION_BYTES, true);
    assert_mapped(2, STATE_BYTES + SECTION_BYTES, SECTION_BYTES, false);
    assert_ptr_equal(channel.states, region);
    assert_ptr_equal(channel.own, region + STATE_BYTES);
    assert_ptr_equal(channel.peer, region + STATE_BYTES + SECTION_BYTES);
}

static void test_a_receiver_of_a_one_way_channel_has_no_section(void **state)
{
    struct partition_channel channel;

    (void)state;
    set_property(1, END, "bulkhead,end", one, sizeof(one));
    make_one_way();
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_OK);
    assert_int_equal(fake_system.mapping_count, 2);
    assert_mapped(1, STATE_BYTES, SECTION_BYTES, false);
    assert_null(channel.own);
    assert_ptr_equal(channel.peer, region + STATE_BYTES);
}

static void test_the_common_section_is_before_the_others(void **state)
{
    struct partition_channel channel;

    (void)state;
    set_property(1, COMMON, "bulkhead,common-bytes", common_cells, sizeof(common_cells));
    fake_system.nodes[1].bytes += STATE_BYTES;
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_OK);
    assert_int_equal(fake_system.mapping_count, 3);
    assert_mapped(1, 2 * STATE_BYTES, SECTION_BYTES, true);
    assert_mapped(2, 2 * STATE_BYTES + SECTION_BYTES, SECTION_BYTES, false);
    assert_ptr_equal(channel.own, region + 2 * STATE_BYTES);
}

static void test_a_mapping_that_fails_is_reported(void **state)
{
    struct partition_channel channel;

    (void)state;
    for (unsigned limit = 0; limit < 3; limit++) {
        fake_system.mapping_count = 0;
        fake_system.mapping_limit = limit;
        assert_int_equal(partition_channel_open(&channel, NULL), GUEST_NOT_MAPPED);
    }
}

static void assert_malformed(unsigned place, const char *name, const void *value, unsigned bytes)
{
    struct partition_channel channel;

    describe(1, zero);
    set_property(1, place, name, value, bytes);
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_MALFORMED);
    assert_int_equal(fake_system.mapping_count, 0);
}

static void test_malformed_nodes_are_refused(void **state)
{
    struct partition_channel channel;
    const char *section = "bulkhead,section-bytes";

    (void)state;
    for (unsigned place = LABEL; place <= SECTION; place++) {
        if (place != CHANNEL) {
            assert_malformed(place, NULL, NULL, 0);
        }
    }
    assert_malformed(LABEL, "label", "pair", sizeof("pair") - 1);
    assert_malformed(LABEL, "label", "a name of sixteen", sizeof("a name of sixteen"));
    assert_malformed(END, "bulkhead,end", two, sizeof(two));
    assert_malformed(END, "bulkhead,end", one, sizeof(one) - 1);
    assert_malformed(SECTION, section, section_cells, sizeof(uint32_t));
    assert_malformed(SECTION, section, odd_section_cells, sizeof(odd_section_cells));
    assert_malformed(SECTION, section, huge_section_cells, sizeof(huge_section_cells));
    assert_malformed(COMMON, "bulkhead,common-bytes", common_cells, sizeof(common_cells));
    assert_malformed(COMMON, "bulkhead,common-bytes", common_cells, sizeof(uint32_t));
    assert_malformed(COMMON, "bulkhead,common-bytes", huge_section_cells,
                     sizeof(huge_section_cells));
    assert_malformed(ONE_WAY, "bulkhead,one-way", "", 0); /* the region has two sections */
    describe(1, zero);
    fake_system.nodes[1].bytes = 0;
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_MALFORMED);
}

static void test_an_end_begins_as_its_own_kind_only(void **state)
{
    struct partition_channel place;
    struct channel channel;
    struct value_writer writer;
    struct value_reader reader;
    struct broadcast_sender sender;
    struct broadcast_receiver receiver;

    (void)state;
    assert_int_equal(partition_channel_open(&place, NULL), GUEST_OK);
    assert_int_equal(partition_channel_begin_values(&place, &writer, &reader), GUEST_OTHER_KIND);
    assert_int_equal(partition_channel_begin_sender(&place, &sender), GUEST_OTHER_KIND);
    assert_int_equal(partition_channel_begin_receiver(&place, &receiver, false), GUEST_OTHER_KIND);
    set_property(1, KIND, "bulkhead,kind", "value", sizeof("value"));
    assert_int_equal(partition_channel_open(&place, NULL), GUEST_OK);
    assert_int_equal(partition_channel_begin(&place, &channel), GUEST_OTHER_KIND);
    assert_int_equal(fake_system.states, 0);
    assert_int_equal(partition_channel_begin_values(&place, &writer, &reader), GUEST_OK);
    set_property(1, KIND, "bulkhead,kind", "messages", sizeof("messages"));
    make_one_way();
    assert_int_equal(partition_channel_open(&place, NULL), GUEST_OK);
    assert_int_equal(partition_channel_begin(&place, &channel), GUEST_OTHER_KIND);
    assert_int_equal(partition_channel_begin_receiver(&place, &receiver, false), GUEST_OTHER_KIND);
    assert_int_equal(partition_channel_begin_sender(&place, &sender), GUEST_OK);
    assert_int_equal(fake_system.states, 2);
}

static void test_a_section_of_no_ring_is_refused(void **state)
{
    struct partition_channel place;
    struct channel channel;

    (void)state;
    assert_int_equal(partition_channel_open(&place, NULL), GUEST_OK);
    place.section_bytes -= 8;
    assert_int_equal(partition_channel_begin(&place, &channel), GUEST_INVALID_SIZE);
}

/* Both ends of one channel, whose second end has a waiter. */
static struct {
    struct partition_channel places[2];
    struct channel channels[2];
    struct partition_waiter waiter;
} pair;

static void connect_pair(void)
{
    for (unsigned end = 0; end < 2; end++) {
        caller = end;
        describe(1, end == 0 ? zero : one);
        assert_int_equal(partition_channel_open(&pair.places[end], NULL), GUEST_OK);
        assert_int_equal(partition_channel_begin(&pair.places[end], &pair.channels[end]), GUEST_OK);
        fake_system.mapping_count = 0;
    }
    partition_waiter_init(&pair.waiter);
    assert_int_equal(partition_waiter_add(&pair.waiter, &pair.places[1]), GUEST_OK);
    for (unsigned i = 0; i < 4; i++) {
        caller = i % 2;
        (void)channel_update(&pair.channels[caller]);
    }
    assert_int_equal(pair.channels[0].state, CHANNEL_CONNECTED);
    assert_int_equal(pair.channels[1].state, CHANNEL_CONNECTED);
    assert_int_equal(partition_channel_peer_state(&pair.places[0]), 1);
    caller = 1;
}

static void send_message(void)
{
    caller = 0;
    assert_int_equal(channel_send(&pair.channels[0], "message", 8, 0), CHANNEL_DONE);
    caller = 1;
}

static size_t wait_for_message(uint64_t deadline)
{
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&pair.waiter);
    const struct channel_wait wait = channel_wait_for_message(&pair.channels[1]);

    return channel_wait_any(&wait, 1, &sleeper, deadline);
}

static void test_a_message_wakes_the_other_end(void **state)
{
    (void)state;
    connect_pair();
    fake_system.meanwhile = send_message;
    assert_int_equal(wait_for_message(CHANNEL_FOREVER), 0);
    assert_int_equal(fake_system.lines[1].calls, 1);
    assert_int_equal(fake_system.doorbells, 1);
    assert_int_equal(fake_system.sleeps, 1);
    /* No task waits, so no doorbell is needed. */
    send_message();
    assert_int_equal(fake_system.lines[1].calls, 1);
}

static void test_a_doorbell_rings_once_for_each_time_that_it_is_armed(void **state)
{
    (void)state;
    connect_pair();
    for (unsigned i = 1; i <= 3; i++) {
        fake_ring(1);
        partition_waiter_prepare(&pair.waiter);
        assert_true(partition_channel_is_armed(&pair.places[1]));
        fake_ring(1);
        fake_ring(1);
        assert_int_equal(fake_system.lines[1].calls, i);
        assert_false(partition_channel_is_armed(&pair.places[1]));
        assert_true(partition_waiter_sleep(&pair.waiter, CHANNEL_FOREVER));
    }
}

static void test_a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    connect_pair();
    assert_int_equal(wait_for_message(SECOND), 1);
    assert_int_equal(fake_system.now, SECOND);
    assert_true(partition_channel_is_armed(&pair.places[1]));
}

static void ring_for_nothing(void)
{
    fake_ring(1);
    fake_system.now++;
}

static void test_a_flood_of_doorbells_makes_the_thread_rest(void **state)
{
    (void)state;
    connect_pair();
    fake_system.meanwhile = ring_for_nothing;
    assert_int_equal(wait_for_message(SECOND), 1);
    assert_in_range(fake_system.now, SECOND, SECOND + 1);
    assert_in_range(fake_system.lines[1].calls, 16, 1100);
}

static void test_a_channel_without_a_usable_interrupt_has_no_waiter(void **state)
{
    struct partition_waiter waiter;
    struct partition_channel channel;

    (void)state;
    partition_waiter_init(&waiter);
    fake_system.nodes[1].has_interrupt = false;
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_OK);
    assert_int_equal(partition_waiter_add(&waiter, &channel), GUEST_NO_INTERRUPT);
    fake_system.nodes[1].has_interrupt = true;
    fake_system.refuses_handlers = true;
    assert_int_equal(partition_channel_open(&channel, NULL), GUEST_OK);
    assert_int_equal(partition_waiter_add(&waiter, &channel), GUEST_NOT_ATTACHED);
    assert_null(waiter.channels);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_channel_is_found_by_its_name),
        TEST(test_only_the_own_section_is_writable),
        TEST(test_a_receiver_of_a_one_way_channel_has_no_section),
        TEST(test_the_common_section_is_before_the_others),
        TEST(test_a_mapping_that_fails_is_reported),
        TEST(test_malformed_nodes_are_refused),
        TEST(test_an_end_begins_as_its_own_kind_only),
        TEST(test_a_section_of_no_ring_is_refused),
        TEST(test_a_message_wakes_the_other_end),
        TEST(test_a_doorbell_rings_once_for_each_time_that_it_is_armed),
        TEST(test_a_wait_ends_at_its_deadline),
        TEST(test_a_flood_of_doorbells_makes_the_thread_rest),
        TEST(test_a_channel_without_a_usable_interrupt_has_no_waiter),
    };

    return cmocka_run_group_tests_name("channel guest", tests, NULL, NULL);
}
