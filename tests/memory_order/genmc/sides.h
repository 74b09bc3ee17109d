/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two sides whose threads GenMC explores, and their doorbells. A thread that sleeps ends: the sleep
 * was right if the doorbell rings sooner or later. Included once by each program, before the
 * library's own source.
 */
#ifndef TESTS_MEMORY_ORDER_GENMC_SIDES_H
#define TESTS_MEMORY_ORDER_GENMC_SIDES_H

#include "channel/wait.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

void __VERIFIER_assume(int);

#define RING_BYTES CHANNEL_RING_MIN

struct section {
    struct channel_control control;
    uint8_t rest[CHANNEL_CONTROL_BYTES - sizeof(struct channel_control)];
    uint8_t ring[RING_BYTES];
};

static uint32_t doorbells[2]; /* of each side: 1 if it rang */
static bool sleeps[2];

static void ring_doorbell(unsigned side)
{
    __atomic_store_n(&doorbells[side], 1, __ATOMIC_RELEASE);
}

static void prepare(void *context)
{
    (void)__atomic_exchange_n(&doorbells[*(unsigned *)context], 0, __ATOMIC_ACQUIRE);
}

static bool sleep_until(void *context, uint64_t deadline)
{
    unsigned side = *(unsigned *)context;

    (void)deadline;
    if (__atomic_load_n(&doorbells[side], __ATOMIC_ACQUIRE) == 0) {
        sleeps[side] = true;
        pthread_exit(NULL);
    }
    return true;
}

static void wait_for(struct channel_wait wait, unsigned side)
{
    const struct channel_sleeper sleeper = {
        .context = &side, .prepare = prepare, .sleep = sleep_until};

    assert(channel_wait_any(&wait, 1, &sleeper, CHANNEL_FOREVER) == 0);
}

/* Runs both sides to their ends. */
static void run_sides(void *(*run_first)(void *), void *(*run_second)(void *))
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, run_first, NULL);
    pthread_create(&threads[1], NULL, run_second, NULL);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert(!sleeps[i] || __atomic_load_n(&doorbells[i], __ATOMIC_RELAXED) != 0);
    }
}

#endif
