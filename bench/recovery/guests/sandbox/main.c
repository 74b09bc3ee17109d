/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sandbox of figure 29 of Quest-V's paper. Without the boot argument `interval` it sends a
 * message to each of the others every 50 ms. With it, it receives once in so many milliseconds, and
 * prints how many messages there were, and when. With `network=1` it answers echo requests, too,
 * and when it is told to have a fault it also writes over its side of the channel before.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/network.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "orders.h"
#include <arch/cpu.h>
#include <string.h>

#define RECEIVERS       3u
#define SEND_MS         50u
#define INTERVAL_MS_MAX 10000u
#define DAMAGED_BYTES   4096u

static const char *const names[RECEIVERS] = {"to0", "to2", "to3"};

struct end {
    struct partition_channel place;
    struct channel channel;
};

static struct end ends[RECEIVERS];

static bool open_end(struct end *end, const char *name)
{
    if (partition_channel_open(&end->place, name) != RESULT_OK ||
        partition_channel_begin(&end->place, &end->channel) != RESULT_OK) {
        print("FAIL: sandbox: no channel\n");
        return false;
    }
    return true;
}

/* Connects with the next life of the other side, after an end or a violation. */
static void connect_again(struct channel *channel)
{
    if (channel->state == CHANNEL_FAILED) {
        print("sandbox: %s\n", channel_error_text(channel->error.kind));
        channel_reset(channel);
    }
    channel_accept(channel);
}

static void send_number(struct channel *channel, uint64_t number)
{
    uint8_t *place = channel_send_begin(channel, sizeof(number));

    if (place != NULL) {
        memcpy(place, &number, sizeof(number));
        channel_send_end(channel, sizeof(number), 1);
    }
}

static int send_to_all(void)
{
    uint64_t next = time_now();

    for (unsigned i = 0; i < RECEIVERS; i++) {
        if (!open_end(&ends[i], names[i])) {
            return 1;
        }
    }
    for (uint64_t number = 1;; number++) {
        for (unsigned i = 0; i < RECEIVERS; i++) {
            uint64_t length;
            uint32_t tag;

            (void)channel_receive_begin(&ends[i].channel, &length, &tag); /* notices the state */
            connect_again(&ends[i].channel);
            send_number(&ends[i].channel, number);
        }
        next += SEND_MS * NANOSECONDS_PER_MILLISECOND;
        thread_sleep_until(next);
    }
}

static unsigned receive_all(struct channel *channel)
{
    uint64_t length;
    uint32_t tag;
    unsigned count = 0;

    while (channel_receive_begin(channel, &length, &tag) != NULL) {
        channel_receive_end(channel);
        count++;
    }
    connect_again(channel);
    return count;
}

/* Returns the time of the board's counter, which a restart does not set back. */
static uint64_t board_microseconds(void)
{
    return arch_clock_ticks() * 1000 / (arch_clock_frequency() / 1000);
}

static void damage_channel(void)
{
    memset(ends[0].place.own, 0xff, DAMAGED_BYTES);
}

int application_main(void)
{
    uint64_t interval = boot_argument_number("interval", 0, 0, INTERVAL_MS_MAX), next = time_now();

    if (interval == 0) {
        return send_to_all();
    }
    if (!open_end(&ends[0], NULL)) {
        return 1;
    }
    if (boot_argument_number("network", 0, 0, 1) != 0 &&
        (network_start() != RESULT_OK || !orders_take(damage_channel))) {
        print("FAIL: sandbox: no network\n");
        return 1;
    }
    for (;;) {
        print("sandbox: received %u at %llu us\n", receive_all(&ends[0].channel),
              (unsigned long long)board_microseconds());
        next += interval * NANOSECONDS_PER_MILLISECOND;
        thread_sleep_until(next);
    }
}
