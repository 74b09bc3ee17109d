/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the wait for more frames of a stream (stream.c) with a driver and a system of the test. */
#include "core_lock.h"
#include "netif_private.h"
#include "network_system.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NAP_COUNT_MAX 21u

struct virtio_net {
    bool traps;
    uint64_t moved;
    unsigned polls;
    unsigned frames_after; /* polls until there is a frame; 0: never */
};

static struct {
    struct virtio_net net;
    struct virtio_netif interface;
    bool is_alone;
    bool is_locked;
    enum network_nap_end nap_ends;
    unsigned naps;
    unsigned signals;
    unsigned releases;
} world;

static int reset(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.interface.net = &world.net;
    world.interface.packets_free = TRANSMIT_PACKETS;
    world.interface.parameters.poll = 10;
    world.net.traps = true;
    return 0;
}

bool network_is_alone(void)
{
    return world.is_alone;
}

void network_step_begins(void)
{
}

enum network_nap_end network_nap(sys_sem_t *semaphore, uint64_t nanoseconds)
{
    assert_ptr_equal(semaphore, &world.interface.wake);
    assert_in_range(nanoseconds, 1, 1000000);
    assert_false(world.is_locked);
    world.naps++;
    return world.nap_ends;
}

void sys_sem_signal(sys_sem_t *semaphore)
{
    assert_ptr_equal(semaphore, &world.interface.wake);
    world.signals++;
}

void network_lock(void)
{
    assert_false(world.is_locked);
    world.is_locked = true;
}

void network_unlock(void)
{
    assert_true(world.is_locked);
    world.is_locked = false;
}

void transmit_release(void *context)
{
    assert_ptr_equal(context, &world.interface);
    assert_true(world.is_locked);
    world.releases++;
}

bool virtio_net_interrupt_traps(const struct virtio_net *net)
{
    return net->traps;
}

uint64_t virtio_net_moved_bytes(const struct virtio_net *net)
{
    return net->moved;
}

bool virtio_net_poll(struct virtio_net *net)
{
    assert_false(world.is_locked);
    net->polls++;
    return net->polls == net->frames_after;
}

/* Begins, moves so many bytes in so many frames, and waits. */
static void await_after(uint64_t bytes, uint32_t frames)
{
    stream_begin(&world.interface);
    assert_int_equal(world.interface.streak, 0);
    world.net.moved += bytes;
    world.interface.streak += frames;
    stream_await(&world.interface);
}

static void polls_after_a_streak_of_frames(void **state)
{
    (void)state;
    world.is_alone = true;
    world.net.traps = false;
    await_after(500, 7);
    assert_int_equal(world.net.polls, 0);
    await_after(500, 8);
    assert_int_equal(world.net.polls, 10);
    world.interface.packets_free = TRANSMIT_PACKETS / 2 - 1;
    await_after(500, 8);
    assert_int_equal(world.net.polls, 10);
    assert_int_equal(world.naps, 0);
}

/* Frames that a poll has found do not wait for a nap. */
static void does_not_nap_after_a_successful_poll(void **state)
{
    (void)state;
    world.is_alone = true;
    world.net.frames_after = 3;
    await_after(65536, 8);
    assert_int_equal(world.net.polls, 3);
    assert_int_equal(world.naps, 0);
}

static void does_not_poll_while_another_thread_is_ready(void **state)
{
    (void)state;
    world.net.traps = false;
    await_after(500, 8);
    assert_int_equal(world.net.polls, 0);
}

static void naps_after_many_bytes(void **state)
{
    (void)state;
    await_after(8191, 1);
    assert_int_equal(world.naps, 0);
    await_after(8192, 1);
    assert_int_equal(world.naps, NAP_COUNT_MAX);
    assert_int_equal(world.net.polls, NAP_COUNT_MAX);
    assert_int_equal(world.releases, NAP_COUNT_MAX);
    assert_int_equal(world.signals, 0);
}

static void counts_anew_when_it_is_woken(void **state)
{
    (void)state;
    for (unsigned wakes = 0; wakes < 10; wakes++) {
        await_after(8191, 1);
    }
    assert_int_equal(world.naps, 0);
}

static void naps_until_there_is_a_frame(void **state)
{
    (void)state;
    world.net.frames_after = 3;
    await_after(65536, 1);
    assert_int_equal(world.naps, 3);
}

static void an_ordinary_interrupt_is_not_replaced(void **state)
{
    (void)state;
    world.net.traps = false;
    await_after(1000000, 1);
    assert_int_equal(world.naps, 0);
}

/* The signal is not lost: the bottom half's loop waits for it next. */
static void a_signal_ends_the_naps(void **state)
{
    (void)state;
    world.nap_ends = NETWORK_NAP_SIGNALLED;
    await_after(65536, 1);
    assert_int_equal(world.naps, 1);
    assert_int_equal(world.signals, 1);
    assert_int_equal(world.net.polls, 0);
}

static void a_system_with_coarse_timers_does_not_nap(void **state)
{
    (void)state;
    world.nap_ends = NETWORK_NAP_IMPOSSIBLE;
    await_after(65536, 1);
    assert_int_equal(world.naps, 1);
    assert_int_equal(world.signals, 0);
    assert_int_equal(world.net.polls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(polls_after_a_streak_of_frames, reset),
        cmocka_unit_test_setup(does_not_nap_after_a_successful_poll, reset),
        cmocka_unit_test_setup(does_not_poll_while_another_thread_is_ready, reset),
        cmocka_unit_test_setup(naps_after_many_bytes, reset),
        cmocka_unit_test_setup(counts_anew_when_it_is_woken, reset),
        cmocka_unit_test_setup(naps_until_there_is_a_frame, reset),
        cmocka_unit_test_setup(an_ordinary_interrupt_is_not_replaced, reset),
        cmocka_unit_test_setup(a_signal_ends_the_naps, reset),
        cmocka_unit_test_setup(a_system_with_coarse_timers_does_not_nap, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
