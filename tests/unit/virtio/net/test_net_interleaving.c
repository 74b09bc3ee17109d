/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that no wake-up is lost in either direction. The device's steps are placed between the
 * driver's accesses to shared memory in every possible way (up to three independent places). In the
 * end no work may be left without a party that will notice it. The device completes a chain in two
 * steps: it publishes its index and decides whether to interrupt. It falls asleep in two steps too:
 * it asks to be notified and checks once more.
 *
 * This test is built with hooked/virtio/barrier.h. The accesses happen in program order, so the
 * test finds errors of the protocol. It does not test whether the barriers keep this order on a
 * processor.
 */
#include "owner.h"
#include <string.h>

enum device_step {
    RX_PUSH,   /* a frame arrives and its used index is published */
    RX_SIGNAL, /* interrupts if necessary */
    TX_PUSH,   /* a frame is sent and its used index is published */
    TX_SIGNAL,
    RX_ASK,   /* asks to be notified, before it sleeps for lack of receive buffers */
    RX_SLEEP, /* checks once more, then sleeps */
    TX_ASK,
    TX_SLEEP,
    STEPS_END,
};

struct scenario {
    const char *name;
    void (*driver)(void);
    enum device_step steps[8];
    uint16_t tx_ring;
    uint16_t rx_buffers;
    bool bursts; /* the first two steps share a place, which keeps the number of cases small */
};

static struct owner owner;
static const struct scenario *scenario;
static unsigned places[8]; /* number of the driver's accesses before each step of the device */
static unsigned next_step;
static unsigned accesses;
static bool hooks_on;
static bool in_handler;
static bool late; /* interrupts are delivered as late as possible */
static bool asleep[2];
static uint64_t notified[2]; /* number of notifications when the device fell asleep */
static bool line_checked;    /* at each access, check that the acknowledgement has arrived */
static unsigned accesses_checked;

static bool awake(unsigned index)
{
    if (asleep[index] && owner.device.queue[index].notifications != notified[index]) {
        asleep[index] = false;
    }
    return !asleep[index];
}

static void push_sent(void)
{
    struct ring_chain chain;

    if (awake(1) && owner_device_take(&owner, &chain)) {
        fake_push(1, chain.id, 0);
    }
}

static void push_received(void)
{
    struct ring_chain chain;
    uint32_t number = owner.injected;

    if (!awake(0) || !fake_pop(0, &chain)) {
        return;
    }
    memset(fake_memory(&chain.segment[0]), 0, 12);
    for (unsigned i = 0; i < 14; i++) {
        fake_memory(&chain.segment[0])[12 + i] =
            (uint8_t)(i < 4 ? number >> (8 * i) : number * 37u + i * 11u + 1u);
    }
    fake_push(0, chain.id, 26);
    owner.injected++;
}

static void go_to_sleep(unsigned index)
{
    if (awake(index) && fake_available(index) == 0) {
        asleep[index] = true;
        notified[index] = owner.device.queue[index].notifications;
    }
}

static void device_step(enum device_step step)
{
    switch (step) {
    case RX_PUSH:
        push_received();
        break;
    case RX_SIGNAL:
        fake_signal(0);
        break;
    case TX_PUSH:
        push_sent();
        break;
    case TX_SIGNAL:
        fake_signal(1);
        break;
    case RX_ASK:
        fake_ask_notification(0);
        break;
    case TX_ASK:
        fake_ask_notification(1);
        break;
    case RX_SLEEP:
        go_to_sleep(0);
        break;
    default:
        go_to_sleep(1);
    }
}

static void run_steps(unsigned until)
{
    bool hooks = hooks_on;

    hooks_on = false;
    while (scenario->steps[next_step] != STEPS_END && places[next_step] <= until) {
        device_step(scenario->steps[next_step++]);
    }
    hooks_on = hooks;
}

void test_shared_access(void)
{
    if (line_checked) {
        assert_false(owner.device.acknowledge_posted);
        accesses_checked++;
    }
    if (hooks_on) {
        run_steps(accesses);
        accesses++;
    }
}

static void deliver(void)
{
    if (!late && !in_handler) {
        in_handler = true;
        owner_interrupts(&owner);
        in_handler = false;
    }
}

static void settle(void)
{
    owner_settle(&owner);
}

static void receive_one(void)
{
    virtio_net_interrupt(owner.net);
    settle();
}

static void bottom_half_only(void)
{
    owner_bottom_half(&owner);
}

static void send_burst(void)
{
    for (unsigned i = 0; i < 5; i++) {
        (void)owner_send(&owner, 20, 1, false);
    }
    virtio_net_flush(owner.net);
}

static void send_and_fetch(void)
{
    for (unsigned i = 0; i < 4; i++) {
        (void)owner_send(&owner, 20, 1, false);
    }
    owner_fetch_packets(&owner);
    (void)owner_send(&owner, 20, 1, false);
    virtio_net_flush(owner.net);
    owner_fetch_packets(&owner);
}

static void send_one_by_one(void)
{
    for (unsigned i = 0; i < 3; i++) {
        (void)owner_send(&owner, 20, 1, false);
        virtio_net_flush(owner.net);
    }
}

/* A device that is awake continues: it sends all frames and interrupts by the rules. */
static bool device_goes_on(void)
{
    bool progress = false;

    while (awake(1) && fake_available(1) != 0) {
        push_sent();
        fake_signal(1);
        progress = true;
    }
    return progress;
}

static void check_nothing_lost(void)
{
    struct virtio_net_statistics s;

    hooks_on = false;
    run_steps(UINT32_MAX);
    /* Signals chains that were published but not signalled yet. */
    fake_signal(0);
    fake_signal(1);
    do {
        late = false;
        deliver();
        settle();
    } while (device_goes_on());
    for (unsigned i = 0; i < 2; i++) {
        if (!awake(i) && fake_available(i) != 0) {
            fail_msg("%s: queue %u: lost notification", scenario->name, i);
        }
    }
    s = owner_statistics(&owner);
    if (owner.received != owner.injected) {
        fail_msg("%s: lost receive interrupt", scenario->name);
    }
    if (s.tx_queued != 0) {
        fail_msg("%s: lost transmit interrupt", scenario->name);
    }
    assert_int_equal(s.rx_exposed, scenario->rx_buffers);
    assert_int_equal(owner.sent_by_device, owner.sent);
    assert_null(virtio_net_broken(owner.net));
}

/* Returns the number of the driver's accesses. */
static unsigned run_case(uint64_t features_off, bool deliver_late, uint16_t budget, bool deferred)
{
    unsigned counted;

    owner_prepare(&owner, FAKE_PCI, 3);
    owner.parameters.features_off = features_off;
    owner.parameters.tx_ring = scenario->tx_ring;
    owner.parameters.rx_buffers = scenario->rx_buffers;
    owner.parameters.interrupt_budget = budget;
    owner.parameters.deferred = deferred;
    hooks_on = false;
    owner_start(&owner);
    fake_ask_notification(0);
    fake_ask_notification(1);
    /* The device was notified at the start about its receive buffers, and waits for frames to
     * send. */
    asleep[0] = false;
    asleep[1] = true;
    notified[1] = 0;
    next_step = 0;
    accesses = 0;
    late = deliver_late;
    assert_true(owner_inject(&owner, 14));
    if (scenario->driver != receive_one) {
        settle();
    }
    fake_on_unlock = deliver;
    hooks_on = true;
    scenario->driver();
    counted = accesses;
    fake_on_unlock = NULL;
    check_nothing_lost();
    owner_finish(&owner);
    return counted;
}

static unsigned cases;

/* Tries all ways to place the steps from `step` on at places >= `from`. A step can share the place
 * of the step before. The place after the driver's last access is also possible. */
static void run_places(unsigned step, unsigned from, unsigned last, uint64_t features_off)
{
    if (scenario->steps[step] == STEPS_END) {
        for (uint16_t budget = 0; budget < 2; budget++) {
            for (unsigned late_or_deferred = 0; late_or_deferred < 4; late_or_deferred++) {
                (void)run_case(features_off, late_or_deferred % 2 != 0, budget,
                               late_or_deferred / 2 != 0);
                cases++;
            }
        }
        return;
    }
    for (unsigned place = from; place <= last; place++) {
        places[step] = place;
        if (scenario->bursts && step % 2 == 0 && scenario->steps[step + 1] != STEPS_END) {
            places[step + 1] = place;
            run_places(step + 2, place, last, features_off);
        } else {
            run_places(step + 1, place, last, features_off);
        }
    }
}

static void run_scenario(const struct scenario *which)
{
    scenario = which;
    cases = 0;
    for (unsigned off = 0; off < 2; off++) {
        uint64_t features_off = off != 0 ? VIRTIO_F_EVENT_IDX : 0;
        unsigned last;

        /* The first run has all steps at the end, to count the accesses. */
        for (unsigned i = 0; i < 8; i++) {
            places[i] = UINT32_MAX;
        }
        last = run_case(features_off, false, 0, false);
        assert_true(last > 4);
        /* Steps of the device cause more accesses of the driver, so there are more places. */
        last += 16;
        run_places(0, 0, last, features_off);
    }
    print_message("%s: %u interleavings\n", which->name, cases);
}

static void receive_interrupt(void **state)
{
    static const struct scenario one = {"receive", receive_one, {RX_PUSH, RX_SIGNAL, STEPS_END},
                                        4,         4,           false};
    static const struct scenario two = {"receive twice",
                                        receive_one,
                                        {RX_PUSH, RX_SIGNAL, RX_PUSH, RX_SIGNAL, STEPS_END},
                                        4,
                                        4,
                                        true};

    (void)state;
    run_scenario(&one);
    run_scenario(&two);
}

static void receive_in_the_bottom_half(void **state)
{
    static const struct scenario it = {
        "bottom half", bottom_half_only, {RX_PUSH, RX_SIGNAL, RX_PUSH, STEPS_END}, 4, 4, false};

    (void)state;
    run_scenario(&it);
}

static void receive_notification(void **state)
{
    static const struct scenario it = {"receive buffers",
                                       receive_one,
                                       {RX_PUSH, RX_SIGNAL, RX_ASK, RX_SLEEP, STEPS_END},
                                       4,
                                       2,
                                       true};

    (void)state;
    run_scenario(&it);
}

static void transmit_interrupt(void **state)
{
    static const struct scenario burst = {
        "burst", send_burst, {TX_PUSH, TX_SIGNAL, TX_PUSH, TX_SIGNAL, STEPS_END}, 2, 2, true};
    static const struct scenario split = {
        "burst, signal late", send_burst, {TX_PUSH, TX_PUSH, TX_SIGNAL, STEPS_END}, 2, 2, false};
    static const struct scenario longer = {
        "longer ring", send_burst, {TX_PUSH, TX_PUSH, TX_PUSH, TX_SIGNAL, STEPS_END}, 4, 2, true};
    static const struct scenario fetch = {
        "fetch", send_and_fetch, {TX_PUSH, TX_SIGNAL, TX_PUSH, TX_SIGNAL, STEPS_END}, 2, 2, true};

    (void)state;
    run_scenario(&burst);
    run_scenario(&split);
    run_scenario(&longer);
    run_scenario(&fetch);
}

static void transmit_notification(void **state)
{
    static const struct scenario it = {
        "one by one", send_one_by_one, {TX_PUSH, TX_ASK, TX_SLEEP, STEPS_END}, 8, 2, false};

    (void)state;
    run_scenario(&it);
}

static void both_directions(void **state)
{
    static const struct scenario it = {
        "both", send_burst, {TX_PUSH, TX_SIGNAL, RX_PUSH, RX_SIGNAL, STEPS_END}, 2, 2, true};

    (void)state;
    run_scenario(&it);
}

/* The device uses a buffer after the driver has read the cause and before the acknowledgement. */
static void finish_before_the_acknowledgement(void)
{
    owner.device.on_acknowledge = NULL;
    push_received();
    fake_signal(0);
}

/* With INTx the driver reads and acknowledges the cause, and the acknowledgement arrives at the
 * device, before the driver reads the rings (virtio/transport.h). Otherwise the driver would miss a
 * buffer used in between, and the device would not interrupt for it. */
static void acknowledged_before_the_rings_are_read(void **state)
{
    static const struct scenario it = {"line", receive_one, {STEPS_END}, 4, 4, false};

    (void)state;
    fake_skip_pool(); /* the handler reads no ring */
    scenario = &it;
    next_step = 0;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner_start(&owner);
    asleep[0] = false;
    for (unsigned i = 0; i < 20; i++) {
        assert_true(owner_inject(&owner, 14));
        owner.device.on_acknowledge = finish_before_the_acknowledgement;
        line_checked = true;
        virtio_net_interrupt(owner.net);
        line_checked = false;
        assert_int_equal(owner_statistics(&owner).rx_queued, 2);
        owner_settle(&owner);
        assert_int_equal(owner.received, owner.injected);
    }
    assert_true(accesses_checked > 20);
    owner_finish(&owner);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_before_the_rings_are_read),
        cmocka_unit_test(receive_interrupt),
        cmocka_unit_test(receive_in_the_bottom_half),
        cmocka_unit_test(receive_notification),
        cmocka_unit_test(transmit_interrupt),
        cmocka_unit_test(transmit_notification),
        cmocka_unit_test(both_directions),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
