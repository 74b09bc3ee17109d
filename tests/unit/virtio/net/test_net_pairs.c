/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests several queue pairs of one device (VIRTIO 1.3, 5.1.2, 5.1.6.5.6), each with its own
 * owner. */
#include "fake.h"
#include "net_balance.h"
#include "virtio/net.h"
#include "virtio/net_burst.h"
#include <string.h>

#define PAIRS   4u
#define BUFFERS 24u

static struct fake_device device;
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static struct virtio_net_parameters parameters;
static const char *reason;

/* The owner of one pair. */
static struct station {
    struct virtio_net *net;
    struct virtio_net_packet packet;
    struct virtio_net_buffer buffers[BUFFERS];
    unsigned signals;
    bool with_driver[BUFFERS];
    uint8_t frame[VIRTIO_NET_HEADER_BYTES + 64];
    uint8_t memory[BUFFERS][VIRTIO_NET_RECEIVE_BYTES];
} stations[PAIRS];

static struct virtio_net_buffer *receive_buffer(void *context)
{
    struct station *station = context;

    for (unsigned i = 0; i < BUFFERS; i++) {
        if (!station->with_driver[i]) {
            station->with_driver[i] = true;
            station->buffers[i] = (struct virtio_net_buffer){.memory = station->memory[i],
                                                             .capacity = VIRTIO_NET_RECEIVE_BYTES};
            return &station->buffers[i];
        }
    }
    return NULL;
}

/* A buffer of another pair would be outside of the array. */
static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    struct station *station = context;
    size_t index = (size_t)(buffer - station->buffers);

    assert_true(index < BUFFERS && station->with_driver[index]);
    station->with_driver[index] = false;
}

static void signal_station(void *context)
{
    struct station *station = context;

    assert_int_equal(fake_lock_depth, 0);
    station->signals++;
}

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_buffer,
    .return_buffer = return_buffer,
    .signal = signal_station,
};

static void prepare(enum fake_bus bus, uint16_t vectors, uint16_t wanted, uint16_t offered)
{
    memset(stations, 0, sizeof(stations));
    fake_reset_device(&device, bus, vectors);
    fake_lock_depth = 0;
    device.offered |= VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_MQ;
    device.config[8] = (uint8_t)offered;
    device.config[9] = (uint8_t)(offered >> 8);
    fake_control_begin(2u * offered);
    parameters = (struct virtio_net_parameters){.queue_pairs = wanted};
}

static void try_start(void)
{
    static void *contexts[PAIRS] = {&stations[0], &stations[1], &stations[2], &stations[3]};
    struct virtio_net *net;

    parameters.contexts = contexts;
    net = virtio_net_create(fake_probe(&mmio, &pci), &parameters, &operations, NULL, &reason);
    for (unsigned i = 0; net != NULL && i < PAIRS; i++) {
        stations[i].net = virtio_net_pair(net, i);
    }
    assert_ptr_equal(stations[0].net, net);
}

static void start(enum fake_bus bus, uint16_t vectors, uint16_t wanted, uint16_t offered)
{
    prepare(bus, vectors, wanted, offered);
    try_start();
    if (stations[0].net == NULL) {
        fail_msg("create: %s", reason);
    }
}

static unsigned pairs(void)
{
    unsigned count = 0;

    while (count < PAIRS && stations[count].net != NULL) {
        count++;
    }
    return count;
}

static void check_returned(void)
{
    for (unsigned i = 0; i < PAIRS; i++) {
        for (unsigned j = 0; j < BUFFERS; j++) {
            assert_false(stations[i].with_driver[j]);
        }
    }
    assert_int_equal(fake_allocations, 0);
}

static void finish(void)
{
    assert_true(virtio_net_stop(stations[0].net));
    for (unsigned i = 0; i < pairs(); i++) {
        struct virtio_net_statistics s;

        while (virtio_net_transmitted(stations[i].net) != NULL) {
        }
        virtio_net_statistics(stations[i].net, &s);
        net_check_all_returned(&s);
    }
    virtio_net_free(stations[0].net);
    check_returned();
}

static void queues_and_the_command(void **state)
{
    (void)state;
    for (uint16_t wanted = 2; wanted <= PAIRS; wanted++) {
        start(FAKE_PCI, 0, wanted, PAIRS);
        assert_int_equal(pairs(), wanted);
        for (unsigned i = 0; i < 2 * PAIRS; i++) {
            assert_int_equal(device.queue[i].enabled, i < 2u * wanted);
        }
        assert_true(device.queue[(size_t)2 * PAIRS].enabled);
        assert_int_equal(fake_control.commands, 1);
        assert_int_equal(fake_control.last_bytes, 4);
        assert_memory_equal(fake_control.last, ((uint8_t[4]){4, 0, (uint8_t)wanted, 0}), 4);
        for (unsigned i = 0; i < wanted; i++) {
            assert_int_equal(fake_available(2 * i), 8);
        }
        finish();
    }
    /* fewer pairs than requested */
    start(FAKE_MMIO, 0, 4, 2);
    assert_int_equal(pairs(), 2);
    finish();
}

/* 5.1.3.1, and invalid numbers of pairs. */
static void one_pair_if_more_are_impossible(void **state)
{
    static const struct {
        uint16_t wanted;
        uint16_t offered;
        uint64_t missing;
    } cases[] = {
        {0, 4, 0},
        {1, 4, 0},
        {4, 1, 0},
        {4, 0, 0},
        {4, 32, 0},
        {4, 0x8000, 0},
        {4, 65535, 0},
        {4, 4, VIRTIO_NET_F_MQ},
        {4, 4, VIRTIO_NET_F_CTRL_VQ},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        prepare(FAKE_PCI, 3, cases[i].wanted, cases[i].offered);
        fake_control.index = 2;
        device.offered &= ~cases[i].missing;
        try_start();
        assert_int_equal(pairs(), 1);
        assert_true((device.accepted & VIRTIO_NET_F_MQ) == 0);
        /* Without MQ the control queue follows the first pair (5.1.2). */
        assert_int_equal(device.queue[2].enabled, cases[i].missing != VIRTIO_NET_F_CTRL_VQ);
        assert_int_equal(fake_control.commands, 0);
        finish();
    }
}

static void vectors(void **state)
{
    (void)state;
    for (uint16_t count = 0; count < 9; count++) {
        start(FAKE_PCI, count, 3, PAIRS);
        assert_int_equal(device.config_vector, count == 0 ? VIRTIO_NO_VECTOR : 0);
        assert_int_equal(device.queue[(size_t)2 * PAIRS].vector, VIRTIO_NO_VECTOR);
        for (unsigned i = 0; i < 6; i++) {
            unsigned expected = count == 0   ? VIRTIO_NO_VECTOR
                                : count == 1 ? 0
                                : count < 4  ? 1
                                : count < 7  ? 1 + i / 2
                                             : 1 + i;

            assert_int_equal(device.queue[i].vector, expected);
        }
        finish();
    }
}

static void inject(unsigned pair)
{
    struct ring_chain chain;

    assert_true(fake_pop(2 * pair, &chain));
    memset(fake_memory(&chain.segment[0]), 0, VIRTIO_NET_HEADER_BYTES + 60);
    fake_memory(&chain.segment[0])[VIRTIO_NET_HEADER_BYTES] = (uint8_t)pair;
    fake_complete(2 * pair, &chain, VIRTIO_NET_HEADER_BYTES + 60);
}

static void interrupts(unsigned count)
{
    for (unsigned vector = 0; vector < sizeof(device.raised); vector++) {
        if (!device.raised[vector]) {
            continue;
        }
        if (!device.line) {
            device.raised[vector] = false;
        }
        if (count > 2 * pairs()) {
            virtio_net_interrupt(stations[(vector - 1) / 2].net);
        } else if (count > pairs()) {
            virtio_net_interrupt(stations[vector - 1].net);
        } else {
            virtio_net_interrupt(stations[0].net);
        }
    }
}

static void bottom_half(struct station *station, unsigned pair)
{
    struct virtio_net_buffer *buffer;

    do {
        while ((buffer = virtio_net_receive(station->net)) != NULL) {
            assert_int_equal(buffer->memory[VIRTIO_NET_HEADER_BYTES], pair);
            return_buffer(station, buffer);
        }
        (void)virtio_net_transmitted(station->net);
    } while (virtio_net_bottom_half(station->net));
}

/* With every kind of interrupt, each pair's frames arrive at its own owner, who is woken; the other
 * owners are not. */
static void frames_stay_with_their_pair(void **state)
{
    (void)state;
    for (uint16_t count = 0; count < 9; count++) {
        start(FAKE_PCI, count, 3, PAIRS);
        for (unsigned round = 0; round < 300; round++) {
            unsigned pair = round % 3;
            struct station *station = &stations[pair];
            struct ring_chain chain;

            inject(pair);
            interrupts(count);
            for (unsigned i = 0; i < 3; i++) {
                /* A vector for everything may also signal the configuration, which pair 0
                 * handles. */
                if (i != 0 || count != 1) {
                    assert_int_equal(stations[i].signals, round / 3 + (i <= pair));
                }
            }
            station->packet = (struct virtio_net_packet){
                .segment_count = 1, .segment = {{&station->frame[VIRTIO_NET_HEADER_BYTES], 60}}};
            assert_true(virtio_net_transmit(station->net, &station->packet));
            virtio_net_flush(station->net);
            assert_true(fake_pop(2 * pair + 1, &chain));
            fake_complete(2 * pair + 1, &chain, 0);
            bottom_half(station, pair);
        }
        for (unsigned i = 0; i < 3; i++) {
            struct virtio_net_statistics s;

            virtio_net_statistics(stations[i].net, &s);
            assert_int_equal(s.rx_frames, 100);
            assert_int_equal(s.tx_returned, 100);
        }
        finish();
    }
}

/* Runs the bottom halves that were signalled, as each pair's thread does. */
static void run_signalled(void)
{
    for (unsigned i = 0; i < pairs(); i++) {
        if (stations[i].signals != 0) {
            stations[i].signals = 0;
            bottom_half(&stations[i], i);
        }
    }
}

/* Traffic on one pair only, with every kind of interrupt. Its bottom half runs after each
 * interrupt, so there are never too many of them. */
static void traffic_on_one_pair_alone(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < 3; pair++) {
        for (uint16_t count = 0; count < 9; count++) {
            start(FAKE_PCI, count, 3, PAIRS);
            for (unsigned round = 0; round < 1000; round++) {
                inject(pair);
                interrupts(count);
                run_signalled();
            }
            for (unsigned i = 0; i < 3; i++) {
                struct virtio_net_statistics s;

                virtio_net_statistics(stations[i].net, &s);
                assert_int_equal(s.rx_frames, i == pair ? 1000 : 0);
                assert_int_equal(s.interrupts_masked, 0);
            }
            assert_null(virtio_net_broken(stations[0].net));
            finish();
        }
    }
}

/* The device always claims a shared line and completes nothing. The driver detects that with
 * several pairs too, and until then masks the line each time. */
static void stuck_line(void **state)
{
    unsigned masked = 0;

    (void)state;
    start(FAKE_PCI, 0, 3, PAIRS);
    run_signalled();
    device.line_stuck = true;
    device.isr = VIRTIO_CAUSE_QUEUE;
    while (virtio_net_broken(stations[0].net) == NULL) {
        unsigned runs = 1;

        while (!virtio_net_interrupt(stations[0].net)) {
            assert_true(runs++ < 16);
        }
        for (unsigned i = 0; i < 3; i++) {
            assert_true(virtio_net_mask_requested(stations[i].net));
        }
        assert_true(stations[0].signals != 0);
        run_signalled();
        for (unsigned i = 0; i < 3; i++) {
            assert_false(virtio_net_mask_requested(stations[i].net));
        }
        assert_true(masked++ < 8);
    }
    assert_int_equal(masked, 8);
    device.line_stuck = false;
    finish();
}

static void pairs_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        prepare(FAKE_PCI, 3, 2, PAIRS);
        fake_control.answer = i == 0;
        fake_control.written = i != 1;
        fake_control.silent = i == 2;
        try_start();
        assert_null(stations[0].net);
        assert_non_null(strstr(reason, "pairs"));
        check_returned();
    }
}

/* A protocol violation on one pair stops all pairs, and all owners are signalled. */
static void all_pairs_stop(void **state)
{
    (void)state;
    for (uint16_t count = 0; count < 8; count += 7) {
        start(FAKE_PCI, count, 3, PAIRS);
        inject(2);
        fake_push(4, 300, 0);
        fake_signal(4);
        interrupts(count);
        bottom_half(&stations[2], 2);
        for (unsigned i = 0; i < 3; i++) {
            assert_non_null(virtio_net_broken(stations[i].net));
            assert_true(stations[i].signals != 0);
            assert_false(virtio_net_transmit(stations[i].net, &stations[i].packet));
        }
        finish();
    }
}

static void configuration_changes_go_to_the_first_pair(void **state)
{
    (void)state;
    start(FAKE_PCI, 7, 3, PAIRS);
    virtio_net_configuration_interrupt(stations[2].net);
    assert_int_equal(stations[0].signals, 1);
    assert_int_equal(stations[2].signals, 0);
    assert_true(virtio_net_link_changed(stations[0].net));
    finish();
}

static void stop_without_confirmation(void **state)
{
    (void)state;
    start(FAKE_PCI, 3, 3, PAIRS);
    device.stuck_in_reset = true;
    assert_false(virtio_net_stop(stations[1].net));
    device.stuck_in_reset = false;
    finish();
}

static void polling(void **state)
{
    (void)state;
    fake_skip(VIRTIO_F_IN_ORDER);
    fake_skip_pool();
    prepare(FAKE_PCI, 1, 3, PAIRS);
    parameters.polling = true;
    try_start();
    assert_int_equal(pairs(), 3);
    for (unsigned i = 0; i < 3; i++) {
        struct virtio_net_buffer *buffer = receive_buffer(&stations[i]);

        assert_int_equal(virtio_net_expose_burst(stations[i].net, &buffer, 1), 1);
        inject(i);
        assert_int_equal(virtio_net_receive_burst(stations[i].net, &buffer, 1), 1);
        assert_int_equal(buffer->memory[VIRTIO_NET_HEADER_BYTES], i);
        assert_int_equal(virtio_net_transmit_burst(stations[i].net, &buffer, 1), 1);
        assert_int_equal(fake_available(2 * i + 1), 1);
    }
    finish();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_and_the_command),
        cmocka_unit_test(one_pair_if_more_are_impossible),
        cmocka_unit_test(vectors),
        cmocka_unit_test(frames_stay_with_their_pair),
        cmocka_unit_test(traffic_on_one_pair_alone),
        cmocka_unit_test(stuck_line),
        cmocka_unit_test(pairs_refused),
        cmocka_unit_test(all_pairs_stop),
        cmocka_unit_test(configuration_changes_go_to_the_first_pair),
        cmocka_unit_test(stop_without_confirmation),
        cmocka_unit_test(polling),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
