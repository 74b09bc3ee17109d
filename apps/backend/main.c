/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The back-end of shared devices (backend/README.md): a partition that owns a card, a disk or both,
 * and serves the virtio devices of other partitions. One thread does all work. It executes rounds
 * while there is work, looks for more during a short time, and then sleeps until a doorbell, the
 * card or the disk wakes it.
 */
#include "deadline.h"
#include "devices.h"
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "network_side.h"
#include "storage_side.h"

#define PRIORITY 48u

/* Without work, the thread looks for more during POLL, or as long as the boot argument `poll` says
 * in microseconds. Then it looks once in each nap, or when the card or the disk has work, until
 * LINGER is over, before it asks the clients to notify: a notification costs a client an exit. So a
 * client that has work now and then causes none, and waits for NAP_MAX at most. A nap is as long as
 * NAP_MIN, or twice as long as the last one if that was in vain. */
#define POLL_MICROSECONDS     20u
#define POLL_MICROSECONDS_MAX 1000000u
#define NAP_MIN               (50 * NANOSECONDS_PER_MICROSECOND)
#define NAP_MAX               (200 * NANOSECONDS_PER_MICROSECOND)
#define LINGER                (5 * NANOSECONDS_PER_MILLISECOND)

static struct {
    struct semaphore wake;
    bool has_network;
    bool has_storage;
    uint64_t nap;     /* the next one's length */
    bool has_elapsed; /* a nap, before this round: neither card nor disk has ended it */
} backend;

/* Executes a round. Returns true if it moved something. *until: when there is work at the latest.
 */
static bool execute_round(uint64_t now, uint64_t *until)
{
    uint64_t network = DEADLINE_NONE, storage = DEADLINE_NONE;
    bool has_moved = false;

    if (backend.has_network) {
        has_moved = network_side_round(now, &network);
    }
    if (backend.has_storage) {
        has_moved = storage_side_round(now, &storage) || has_moved;
    }
    *until = deadline_earlier(network, storage);
    return has_moved;
}

/* Chooses the length of the next nap: the last one tells how often clients have work. */
static void adapt_nap(bool has_moved)
{
    if (!backend.has_elapsed) {
        return;
    }
    backend.has_elapsed = false;
    if (has_moved) {
        backend.nap = NAP_MIN;
    } else if (2 * backend.nap <= NAP_MAX) {
        backend.nap *= 2;
    }
}

/* Waits for a nap, or until the card or the disk has work. Clients are not asked to notify. */
static void nap(uint64_t until)
{
    if ((!backend.has_network || network_side_nap()) &&
        (!backend.has_storage || storage_side_nap())) {
        backend.has_elapsed =
            semaphore_wait(&backend.wake, deadline_earlier(time_after(backend.nap), until)) !=
            RESULT_OK;
    }
}

static void sleep_until_work(uint64_t until)
{
    if ((!backend.has_network || network_side_sleep()) &&
        (!backend.has_storage || storage_side_sleep())) {
        (void)semaphore_wait(&backend.wake, until);
    }
    if (backend.has_network) {
        network_side_wake();
    }
    if (backend.has_storage) {
        storage_side_wake();
    }
}

static _Noreturn void serve(void)
{
    uint64_t poll = NANOSECONDS_PER_MICROSECOND *
                    boot_argument_number("poll", POLL_MICROSECONDS, 0, POLL_MICROSECONDS_MAX);
    uint64_t linger = poll > LINGER ? poll : LINGER;
    uint64_t worked = time_now();

    backend.nap = NAP_MIN;
    for (;;) {
        uint64_t now = time_now();
        uint64_t until;
        bool has_moved = execute_round(now, &until);

        adapt_nap(has_moved);
        if (has_moved) {
            worked = now;
        } else if (now - worked >= linger) {
            sleep_until_work(until);
        } else if (now - worked >= poll) {
            nap(until);
        }
    }
}

int application_main(void)
{
    semaphore_init(&backend.wake, 0, 1);
    devices_report_unknown();
    backend.has_network = network_side_start(&backend.wake);
    backend.has_storage = storage_side_start(&backend.wake);
    if (!backend.has_network && !backend.has_storage) {
        print("backend: the system file has no shared device for this partition to serve\n");
        return 1;
    }
    (void)thread_set_priority(thread_current(), PRIORITY);
    serve();
}
