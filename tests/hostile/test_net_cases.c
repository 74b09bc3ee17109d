/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks through features beside the two queues: commands, queue pairs, segmentation, the reset of
 * one queue, the legacy interface.
 */
#include "cases.h"
#include <string.h>

#define SECOND_RECEIVE  2u
#define SECOND_TRANSMIT 3u

/* Starts a case with any ring, but without the reset of one queue, so that a failure breaks the
 * device. */
static void begin(enum bus bus, unsigned header)
{
    cases_begin(bus, bus == BUS_PCI ? 3 : 0, header, WITHOUT_QUEUE_RESET | WITHOUT_PACKED);
}

static enum virtio_net_answer command(void)
{
    return owner_command(COMMAND_MAC, 1, 2);
}

/* ---- Commands ---- */

/* The driver accepts an answer to a command only if it is exactly VIRTIO_NET_OK. */
static void answers_other_than_ok(void **state)
{
    static const struct {
        enum control_manner manner;
        uint32_t value;
        enum virtio_net_answer answer;
    } lies[] = {
        {CONTROL_REFUSES, 0, VIRTIO_NET_REFUSED},
        {CONTROL_ODD, 0, VIRTIO_NET_REFUSED},
        {CONTROL_ODD, 253, VIRTIO_NET_REFUSED},
        {CONTROL_EMPTY, 0, VIRTIO_NET_REFUSED},
        {CONTROL_UNWRITTEN, 0, VIRTIO_NET_REFUSED},
        /* The length is clamped to the single byte of the answer: see length_clamped. */
        {CONTROL_LONGER, 0, VIRTIO_NET_DONE},
        {CONTROL_LONGER, 0xfffffff0, VIRTIO_NET_DONE},
    };

    (void)state;
    for (unsigned bus = 0; bus < 2; bus++) {
        for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            begin(bus, HEADER_COMMANDS);
            assert_int_equal(command(), VIRTIO_NET_DONE); /* leaves VIRTIO_NET_OK in memory */
            control_answers(lies[i].manner, lies[i].value);
            assert_int_equal(owner_command(COMMAND_MAC, 3, 4), lies[i].answer);
            control_answers(CONTROL_HONEST, 0);
            assert_int_equal(command(), VIRTIO_NET_DONE);
            assert_null(virtio_net_broken(owner_net()));
            program_finish();
        }
    }
}

/* The control queue breaks like the others: it is reset if the device supports that, else the
 * device is. */
static void answers_to_another_command(void **state)
{
    static const uint32_t ids[] = {0, 0xfffe};

    (void)state;
    for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        begin(BUS_PCI, HEADER_COMMANDS);
        control_answers(CONTROL_WRONG_ID, ids[i]);
        assert_int_equal(command(), VIRTIO_NET_NO_ANSWER);
        control_answers(CONTROL_HONEST, 0);
        assert_int_equal(command(), VIRTIO_NET_NOT_SENT);
        cases_expect_broken("id");

        cases_begin(BUS_PCI, 3, HEADER_COMMANDS, WITHOUT_PACKED);
        control_answers(CONTROL_WRONG_ID, ids[i]);
        assert_int_equal(command(), VIRTIO_NET_NO_ANSWER);
        control_answers(CONTROL_HONEST, 0);
        assert_int_equal(command(), VIRTIO_NET_DONE);
        assert_null(virtio_net_broken(owner_net()));
        program_finish();
    }
}

/* VIA: a driver waits for the device without end. While the driver waits, the command's memory
 * belongs to the device; a late answer is accepted. */
static void command_never_answered(void **state)
{
    (void)state;
    begin(BUS_PCI, HEADER_COMMANDS);
    control_answers(CONTROL_SILENT, 0);
    assert_int_equal(command(), VIRTIO_NET_NO_ANSWER);
    for (unsigned i = 0; i < COMMANDS; i++) {
        assert_int_equal(owner_command(i, 9, 9), VIRTIO_NET_NO_ANSWER);
    }
    control_answers(CONTROL_HONEST, 0);
    control_run(); /* checks that the command has not changed */
    assert_int_equal(control_commands(), 1);
    assert_int_equal(command(), VIRTIO_NET_DONE);
    assert_int_equal(control_commands(), 2);
    control_answers(CONTROL_LATE, 400);
    assert_int_equal(command(), VIRTIO_NET_DONE);
    program_finish();
}

/* An answer comes before its command, while memory still holds the previous answer; or comes
 * twice. */
static void answer_before_the_command(void **state)
{
    (void)state;
    begin(BUS_MMIO, HEADER_COMMANDS);
    assert_int_equal(command(), VIRTIO_NET_DONE);
    control_answers(CONTROL_UNASKED, 0);
    assert_int_not_equal(command(), VIRTIO_NET_DONE);
    program_finish();
    begin(BUS_MMIO, HEADER_COMMANDS);
    control_answers(CONTROL_TWICE, 0);
    assert_int_equal(command(), VIRTIO_NET_NO_ANSWER);
    program_finish();
}

/* The device fails while the driver waits for its answer. */
static void broken_during_a_command(void **state)
{
    (void)state;
    begin(BUS_PCI, HEADER_COMMANDS);
    control_answers(CONTROL_SILENT, 0);
    device.lies |= LIE_CONFIG;
    device.status |= VIRTIO_STATUS_NEEDS_RESET;
    device_raise(device.config_vector, VIRTIO_CAUSE_CONFIG);
    assert_int_equal(command(), VIRTIO_NET_NO_ANSWER);
    owner_settle();
    assert_int_equal(command(), VIRTIO_NET_NOT_SENT);
    cases_expect_broken("reset");
}

/* ---- Queue pairs ---- */

static void pairs_command_fails(void **state)
{
    static const enum control_manner manners[] = {CONTROL_REFUSES,   CONTROL_SILENT,
                                                  CONTROL_ODD,       CONTROL_EMPTY,
                                                  CONTROL_UNWRITTEN, CONTROL_WRONG_ID};

    (void)state;
    for (unsigned i = 0; i < sizeof(manners) / sizeof(manners[0]); i++) {
        begin(BUS_PCI, HEADER_PAIRS);
        assert_true(owner_destroy());
        control_answers(manners[i], 0);
        cases_expect_refused(cases_start(), "pairs");
    }
}

/* The device neither answers the command nor confirms the reset. The driver frees no memory that
 * the device may use. */
static void pairs_command_and_reset_fail(void **state)
{
    const struct snare stuck = {.access = ACCESS_STATUS,
                                .effect = SNARE_REPLACE,
                                .countdown = 6,
                                .every = 1,
                                .value = 0x4f};

    (void)state;
    begin(BUS_PCI, HEADER_PAIRS);
    assert_true(owner_destroy());
    control_answers(CONTROL_SILENT, 0);
    snare_set(&stuck);
    cases_expect_refused(cases_start(), "pairs");
}

/* The number of pairs changes between two reads, or is out of range. */
static void number_of_pairs_changes(void **state)
{
    static const uint32_t numbers[] = {0, 1, 3, 32, 0x7fff, 0x8000, 0x8002, 0xffff};

    (void)state;
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        for (uint32_t nth = 1; nth < 16; nth++) {
            const struct snare changes = {.access = ACCESS_CONFIG,
                                          .effect = SNARE_REPLACE,
                                          .countdown = nth,
                                          .value = numbers[i]};

            begin(BUS_PCI, HEADER_PAIRS);
            assert_true(owner_destroy());
            snare_set(&changes);
            if (cases_start() == NULL) {
                owner_getters();
            }
            program_finish();
        }
    }
}

static void expect_all_broken(void)
{
    owner_settle();
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        owner_choose(pair);
        assert_int_equal(owner_chosen(), pair);
        assert_non_null(virtio_net_broken(owner_net()));
        assert_false(owner_transmit(60, 1, false));
    }
    owner_check();
    program_finish();
}

/* Both pairs stop and keep all their buffers, although only one of them was attacked. */
static void second_pair_is_attacked(void **state)
{
    static const struct {
        unsigned index;
        unsigned lie;
        uint32_t value;
    } lies[] = {
        {SECOND_RECEIVE, ID_NOWHERE, 8},       {SECOND_RECEIVE, ID_NOWHERE, 0xffffffff},
        {SECOND_RECEIVE, LONGER, 0},           {SECOND_RECEIVE, HUGE, 0},
        {SECOND_RECEIVE, INDEX_JUMPS, 0x8000}, {SECOND_TRANSMIT, ID_NOWHERE, 0xffff},
        {SECOND_TRANSMIT, DOUBLE, 0},
    };

    (void)state;
    for (unsigned vectors = 0; vectors < 4; vectors++) {
        for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            cases_begin(BUS_PCI, vectors, HEADER_PAIRS, WITHOUT_QUEUE_RESET | WITHOUT_PACKED);
            cases_send(3);
            traffic_receive(0, 3, 60, 0);
            owner_choose(1);
            cases_send(3);
            traffic_lie(lies[i].index, lies[i].lie, lies[i].value);
            (void)owner_fetch_packets(1);
            owner_interrupt(2);
            owner_bottom_half(false);
            expect_all_broken();
        }
    }
}

/* Whichever pair detects the failure, the bottom halves of both are signalled. */
static void both_pairs_are_signalled(void **state)
{
    (void)state;
    begin(BUS_PCI, HEADER_PAIRS);
    owner_settle();
    assert_false(owner_signalled(0) || owner_signalled(1));
    owner_choose(1);
    cases_send(3);
    traffic_lie(SECOND_TRANSMIT, ID_NOWHERE, 0xffff);
    assert_int_equal(owner_fetch_packets(1), 0);
    assert_true(owner_signalled(0) && owner_signalled(1));
    expect_all_broken();
}

/* A pair can't return the chains of the other. */
static void id_of_another_pair(void **state)
{
    (void)state;
    begin(BUS_PCI, HEADER_PAIRS);
    cases_send(4);
    traffic_lie(SECOND_TRANSMIT, ID_NOWHERE, device.queue[TRANSMIT].held[3].id);
    owner_choose(1);
    assert_int_equal(owner_fetch_packets(10), 0);
    expect_all_broken();
}

/* ---- Segmentation ---- */

/* A frame of 64 KiB in 37 packets is returned complete, whatever the device writes about it. */
static void large_frame_with_false_used_elements(void **state)
{
    static const unsigned lies[] = {ID_NOWHERE, DOUBLE};
    const struct owner_segments large = {.type = VIRTIO_NET_GSO_TCPV4,
                                         .bytes = VIRTIO_NET_GSO_FRAME_MAX,
                                         .header_bytes = 54,
                                         .gso_bytes = 1460,
                                         .pieces = 1};

    (void)state;
    for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        begin(i % 2 != 0 ? BUS_PCI : BUS_MMIO, 0);
        for (unsigned rounds = 0; rounds < 3; rounds++) {
            assert_true(owner_transmit_segments(&large));
            assert_int_equal(pool_packets_held(), 37);
            owner_flush();
            traffic_take(TRANSMIT, 1);
            traffic_return(TRANSMIT, 1, 0);
            assert_int_equal(owner_fetch_packets(10), 1);
            assert_int_equal(pool_packets_held(), 0);
        }
        assert_true(owner_transmit_segments(&large));
        owner_flush();
        traffic_take(TRANSMIT, 1);
        traffic_lie(TRANSMIT, lies[i], lies[i] == ID_NOWHERE ? 255 : 0);
        (void)owner_fetch_packets(10);
        cases_expect_broken("");
    }
}

/* The driver refuses frames that the device may not be given. */
static void invalid_segmentation_requests(void **state)
{
    const struct owner_segments good = {.type = VIRTIO_NET_GSO_TCPV6,
                                        .bytes = 9000,
                                        .header_bytes = 74,
                                        .gso_bytes = 1440,
                                        .pieces = 2};
    struct owner_segments bad[10];

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        bad[i] = good;
    }
    bad[0].type = VIRTIO_NET_GSO_NONE;
    bad[1].type = (enum virtio_net_gso)3; /* UDP */
    bad[2].type = (enum virtio_net_gso)0x81;
    bad[3].gso_bytes = 0;
    bad[4].gso_bytes = 1441;                  /* exceeds the MTU */
    bad[5].bytes = bad[5].header_bytes = 100; /* headers without data */
    bad[5].gso_bytes = 10;
    bad[5].pieces = 1;
    bad[6].header_bytes = 1000; /* exceeds the first piece */
    bad[6].gso_bytes = 400;
    bad[7].without_checksum = true;
    bad[8].bytes = VIRTIO_NET_GSO_FRAME_MAX + 1;
    bad[8].pieces = 1;
    bad[9].pieces = 8; /* 5 x 8 pieces fit, 36 x 8 do not */
    bad[9].bytes = 60000;
    begin(BUS_PCI, 0);
    for (unsigned i = 0; i < 10; i++) {
        if (owner_transmit_segments(&bad[i])) {
            fail_msg("frame %u is accepted", i);
        }
        assert_true(owner_transmit_segments(&good));
        owner_flush();
        traffic_take(TRANSMIT, 1);
        traffic_return(TRANSMIT, 1, 0);
        assert_int_equal(owner_fetch_packets(10), 1);
    }
    program_finish();
}

/* ---- The reset of one queue ---- */

/* Starts a case in which the device holds buffers and packets, and its receive queue breaks. */
static void begin_queue_reset(enum bus bus, enum queue_reset how, uint32_t reads)
{
    cases_begin(bus, bus == BUS_PCI ? 3 : 0, 0, WITHOUT_PACKED);
    cases_send(2);
    device.queue_reset = how;
    device.queue_reset_reads = reads;
    device.lies |= how != QUEUE_RESET_DONE ? LIE_REGISTER | LIE_CONFIG : 0;
    traffic_lie(RECEIVE, ID_NOWHERE, 8);
}

static unsigned queue_resets(void)
{
    struct virtio_net_statistics s;

    virtio_net_statistics(owner_net(), &s);
    return (unsigned)s.queue_resets;
}

/* The driver waits for the reset of the queue, but not without end. The owner gets the queue's
 * buffers back only after the reset (2.6.1). */
static void queue_reset_not_done(void **state)
{
    static const struct {
        enum queue_reset how;
        uint32_t reads;
    } lies[] = {{QUEUE_RESET_NEVER, 0},
                {QUEUE_RESET_STAYS, 0},
                {QUEUE_RESET_STAYS, 3},
                {QUEUE_RESET_GIVES_UP, 0},
                {QUEUE_RESET_DONE, 5000}};

    (void)state;
    for (unsigned bus = 0; bus < 2; bus++) {
        for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            begin_queue_reset(bus, lies[i].how, lies[i].reads);
            owner_settle();
            owner_bottom_half(true);
            assert_int_equal(pool_buffers_held(), 8);
            assert_int_equal(queue_resets(), 0);
            cases_expect_broken("");
        }
    }
}

/* During the reset interrupts come, and the other queue keeps working. */
static void queue_reset_takes_its_time(void **state)
{
    (void)state;
    for (unsigned bus = 0; bus < 2; bus++) {
        begin_queue_reset(bus, QUEUE_RESET_DONE, 500);
        device_raise(device.config_vector, VIRTIO_CAUSE_CONFIG);
        owner_interrupt(1);
        for (unsigned vector = 0; vector < VECTORS; vector++) {
            device_raise((uint16_t)vector, VIRTIO_CAUSE_QUEUE);
        }
        owner_bottom_half(true);
        owner_settle();
        assert_null(virtio_net_broken(owner_net()));
        assert_int_equal(queue_resets(), 1);
        assert_int_equal(pool_buffers_held(), 8);
        traffic_return(TRANSMIT, 2, 0);
        assert_int_equal(owner_fetch_packets(10), 2);
        traffic_receive(0, 3, 60, 0);
        owner_settle();
        assert_int_equal(owner_frames_received(), 3);
        program_finish();
    }
}

/* After its reset the queue continues where it was. If it breaks again, it is not reset a second
 * time. */
static void queue_continues_after_its_reset(void **state)
{
    (void)state;
    begin_queue_reset(BUS_PCI, QUEUE_RESET_GOES_ON, 0);
    traffic_receive(0, 5, 60, 0);
    owner_settle();
    assert_int_equal(queue_resets(), 1);
    for (unsigned i = 0; i < 3; i++) {
        traffic_receive(0, 1, 60, 0);
        traffic_lie(RECEIVE, ID_NOWHERE, 0);
        owner_settle();
    }
    assert_int_equal(queue_resets(), 1);
    cases_expect_broken("");
}

/* ---- The legacy interface ---- */

static const struct {
    enum bus bus;
    unsigned header;
} legacy[] = {
    {BUS_MMIO, HEADER_LEGACY}, /* the header has a descriptor of its own */
    {BUS_PCI, HEADER_LEGACY},
    {BUS_MMIO, HEADER_LEGACY | HEADER_ANY_LAYOUT},
    {BUS_PCI, HEADER_LEGACY | HEADER_ANY_LAYOUT},
};

#define LEGACY_KINDS (sizeof(legacy) / sizeof(legacy[0]))

static void begin_legacy(unsigned kind)
{
    cases_begin(legacy[kind].bus, legacy[kind].bus == BUS_PCI ? 3 : 0, legacy[kind].header,
                WITHOUT_MERGING);
}

/* Repeats the attacks for legacy devices, where a chain has one descriptor more and the header two
 * bytes less. */
static void legacy_used_elements(void **state)
{
    static const struct {
        unsigned index;
        unsigned lie;
        uint32_t value;
    } lies[] = {
        {RECEIVE, ID_NOWHERE, 0xffff},   {RECEIVE, LONGER, 0},  {RECEIVE, HUGE, 0},
        {RECEIVE, INDEX_JUMPS, 0x8000},  {RECEIVE, DOUBLE, 0},  {TRANSMIT, ID_NOWHERE, 0x10000},
        {TRANSMIT, INDEX_JUMPS, 0x4000}, {TRANSMIT, DOUBLE, 0},
    };

    (void)state;
    for (unsigned kind = 0; kind < LEGACY_KINDS; kind++) {
        for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            begin_legacy(kind);
            cases_send(2);
            traffic_receive(0, 2, 60, 0);
            traffic_lie(lies[i].index, lies[i].lie, lies[i].value);
            (void)owner_fetch_packets(10);
            cases_expect_broken("");
        }
    }
}

/* The descriptor of a frame, which follows that of the header, is not the head of a chain. */
static void legacy_id_of_the_frame(void **state)
{
    (void)state;
    begin_legacy(0);
    traffic_lie(RECEIVE, ID_NOWHERE, 1);
    cases_expect_broken("no chain");
}

/* A length below the header of 10 bytes and an Ethernet header gives no frame and no underflow. */
static void legacy_short_frames(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < LEGACY_KINDS; kind++) {
        begin_legacy(kind);
        for (uint32_t bytes = 0; bytes < 24; bytes++) {
            traffic_lie(RECEIVE, SHORTER, bytes);
            owner_settle();
            assert_int_equal(pool_buffers_held(), 8);
        }
        assert_int_equal(owner_frames_received(), 0);
        traffic_lie(RECEIVE, SHORTER, 24);
        owner_settle();
        assert_int_equal(owner_frames_received(), 1);
        assert_int_equal(owner_last_frame().bytes, 14);
        program_finish();
    }
}

/* Legacy devices have no generation counter: the driver accepts a value that it has read twice
 * (2.5.3), but the value always changes. */
static void legacy_configuration_never_stable(void **state)
{
    const struct snare restless = {
        .access = ACCESS_CONFIG, .effect = SNARE_XOR, .countdown = 4, .every = 4, .value = 4};

    (void)state;
    for (unsigned kind = 0; kind < LEGACY_KINDS; kind++) {
        begin_legacy(kind);
        assert_true(owner_destroy());
        snare_set(&restless);
        cases_expect_refused(cases_start(), "configuration");
    }
}

/* Legacy PCI: the driver can't choose the size, and the ring does not exist or can't be used. */
static void legacy_queue_sizes(void **state)
{
    static const uint16_t sizes[] = {0, 1, 2, 3, 4, 5, 255, 257, 0x7fff, 0x8000, 0xffff};

    (void)state;
    for (unsigned kind = 0; kind < LEGACY_KINDS; kind++) {
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            const char *reason;

            begin_legacy(kind);
            for (unsigned j = 0; j < QUEUES; j++) {
                device.queue[j].size_max = sizes[i];
            }
            reason = cases_start();
            if (legacy[kind].bus == BUS_PCI) {
                assert_int_equal(reason == NULL, sizes[i] != 0 && (sizes[i] & (sizes[i] - 1)) == 0);
            }
            for (unsigned j = 0; j < 4 && reason == NULL; j++) {
                (void)owner_transmit(60, 1, false);
                traffic_receive(0, 1, 60, 0);
                owner_settle();
            }
            program_finish();
        }
    }
}

/* A ring of 64 entries has room for the 43 buffers of a large frame, but only for 32 of them if
 * each needs another entry for its header. The device would wait for the rest for ever. */
static void legacy_large_frames_need_room(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < LEGACY_KINDS; kind++) {
        bool alone = (legacy[kind].header & HEADER_ANY_LAYOUT) == 0;

        cases_begin_merging(legacy[kind].bus, legacy[kind].bus == BUS_PCI ? 3 : 0,
                            legacy[kind].header, 0);
        device.queue[RECEIVE].size_max = 64;
        assert_null(cases_start());
        assert_int_equal((virtio_net_features(owner_net()) & VIRTIO_NET_F_MRG_RXBUF) == 0, alone);
        assert_int_equal((virtio_net_features(owner_net()) & VIRTIO_NET_F_GUEST_TSO4) == 0, alone);
        assert_true(owner_destroy());
        device.queue[RECEIVE].size_max = 128;
        assert_null(cases_start());
        assert_true((virtio_net_features(owner_net()) & VIRTIO_NET_F_MRG_RXBUF) != 0);
        program_finish();
    }
}

/* Feature bits for which a legacy device has no registers. */
static void legacy_features_beyond(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < LEGACY_KINDS; kind++) {
        begin_legacy(kind);
        device.offered |= VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER;
        device.device_feature_select = 1;
        assert_null(cases_start());
        assert_int_equal(virtio_net_features(owner_net()) >> 32, 0);
        program_finish();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_other_than_ok),
        cmocka_unit_test(answers_to_another_command),
        cmocka_unit_test(command_never_answered),
        cmocka_unit_test(answer_before_the_command),
        cmocka_unit_test(broken_during_a_command),
        cmocka_unit_test(pairs_command_fails),
        cmocka_unit_test(pairs_command_and_reset_fail),
        cmocka_unit_test(number_of_pairs_changes),
        cmocka_unit_test(second_pair_is_attacked),
        cmocka_unit_test(both_pairs_are_signalled),
        cmocka_unit_test(id_of_another_pair),
        cmocka_unit_test(large_frame_with_false_used_elements),
        cmocka_unit_test(invalid_segmentation_requests),
        cmocka_unit_test(queue_reset_not_done),
        cmocka_unit_test(queue_reset_takes_its_time),
        cmocka_unit_test(queue_continues_after_its_reset),
        cmocka_unit_test(legacy_used_elements),
        cmocka_unit_test(legacy_id_of_the_frame),
        cmocka_unit_test(legacy_short_frames),
        cmocka_unit_test(legacy_large_frames_need_room),
        cmocka_unit_test(legacy_configuration_never_stable),
        cmocka_unit_test(legacy_queue_sizes),
        cmocka_unit_test(legacy_features_beyond),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
