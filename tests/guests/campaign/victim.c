/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The victim of ./bulkhead campaign. It uses all that a fault can hit: each millisecond a thread
 * does a turn of work, writes its number to a channel and to kept memory, and prints the digest of
 * every second turn; another thread reads a file of the network's TFTP server (RFC 1350) again and
 * again, and checks what it receives. Its heartbeat tells the hypervisor that it lives, and a
 * watchdog that its work goes on. It contains nothing that injects faults: the campaign works from
 * outside.
 *
 * Boot arguments:
 *   scrub=5   a scrubber compares code and constants with their digests, each 5 ms; 0: none
 *   twice=1   does each turn twice, and panics unless both results are the same
 */
#include "kernel/application.h"
#include "kernel/datagram.h"
#include "kernel/devicetree.h"
#include "kernel/heartbeat.h"
#include "kernel/kept.h"
#include "kernel/network.h"
#include "kernel/panic.h"
#include "kernel/partition_channel.h"
#include "kernel/periodic.h"
#include "kernel/print.h"
#include "kernel/scrub.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/watchdog.h"
#include "work.h"
#include <string.h>

#define TURNS_A_LINE   2u
#define TFTP_PORT      69u
#define LOCAL_PORT     9000u
#define REPLY_MS       20u
#define GUARD_MS       10u /* longer than others execute on a shared core */
#define SCRUB_MS_MAX   1000u
#define SCRUB_PRIORITY 40u /* above the work, so that a busy thread does not keep it out */
#define NET_STACK      ((size_t)16384)
#define NET_PRIORITY   20u
#define ANSWER_HEADER  4u /* opcode and block, RFC 1350, 5 */
#define ANSWER_MAX     600u

/* A read request: opcode 1, the file's name, the mode. */
static const char request[] = "\0\1data\0octet";

struct progress {
    uint32_t life;
    uint32_t turn;
    uint32_t digest;
};

static const struct kept_format format = {"progress", 1, 1, sizeof(struct progress)};
static struct kept_record record;
static struct progress progress;
static struct {
    struct partition_channel place;
    struct value_writer writer;
    struct value_reader reader;
} values;

/* The campaign finds the saved registers of these threads by this name. */
struct thread *campaign_threads[2];

static bool open_values(void)
{
    return partition_channel_open(&values.place, "values") == RESULT_OK &&
           partition_channel_begin_values(&values.place, &values.writer, &values.reader) ==
               RESULT_OK;
}

static void write_value(uint32_t turn)
{
    uint64_t word = turn;

    memcpy(value_write_begin(&values.writer), &word, sizeof(word));
    if (value_write_end(&values.writer, sizeof(word))) {
        partition_channel_notify(&values.place);
    }
}

/* Returns the digest of an answer's data; 0: it is no data. */
static uint32_t answer_digest(const uint8_t *answer, size_t bytes)
{
    uint32_t digest = 0;

    if (bytes < ANSWER_HEADER || answer[1] != 3) {
        return 0;
    }
    for (size_t i = ANSWER_HEADER; i < bytes; i++) {
        digest = work_mix(digest, answer[i]);
    }
    return digest | 1u;
}

/* Asks for the file. Returns the digest of the first block; 0: nothing came in time. */
static uint32_t ask(struct datagram *datagram)
{
    static uint8_t answer[ANSWER_MAX];
    uint64_t deadline = time_after(REPLY_MS * NANOSECONDS_PER_MILLISECOND);
    size_t bytes;

    if (datagram_send(datagram, request, sizeof(request), deadline) != RESULT_OK ||
        datagram_receive(datagram, answer, sizeof(answer), &bytes, deadline) != RESULT_OK) {
        return 0;
    }
    return answer_digest(answer, bytes);
}

static void use_network(void *argument)
{
    struct datagram_parameters parameters = {.peer_port = TFTP_PORT, .local_port = LOCAL_PORT};
    struct datagram *datagram;
    uint32_t first = 0, digest;

    (void)argument;
    if (ipaddr_aton("10.0.2.2", &parameters.peer) == 0 ||
        datagram_open(&datagram, &parameters) != RESULT_OK) {
        print("no endpoint\n");
        return;
    }
    for (uint32_t number = 1;; number++) {
        digest = ask(datagram);
        if (first == 0) {
            first = digest;
        }
        if (digest == 0 && first != 0) {
            print("network: no answer\n");
        } else if (digest != first) {
            print("network: %08lx instead of %08lx\n", (unsigned long)digest, (unsigned long)first);
        } else if (digest != 0 && number % TURNS_A_LINE == 0) {
            print("network: %08lx\n", (unsigned long)digest);
        }
        thread_sleep_until(time_after(NANOSECONDS_PER_MILLISECOND));
    }
}

static bool start_network(void)
{
    const struct thread_attributes attributes = {
        .name = "campaign-net", .priority = NET_PRIORITY, .stack_bytes = NET_STACK};

    return network_start() == RESULT_OK &&
           thread_create(&campaign_threads[1], &attributes, use_network, NULL) == RESULT_OK;
}

static bool start_scrubber(void)
{
    uint64_t period = boot_argument_number("scrub", 0, 0, SCRUB_MS_MAX);
    const struct scrub_attributes attributes = {.period = period * NANOSECONDS_PER_MILLISECOND,
                                                .priority = SCRUB_PRIORITY};

    return period == 0 || scrub_start(&attributes) == RESULT_OK;
}

/* Returns the digest of a turn. Does the work once more if it is checked (redundancy in time), and
 * panics unless both results are the same. */
static uint32_t do_turn(uint32_t turn, bool is_checked)
{
    uint32_t digest = work_turn(turn);
    uint32_t again = is_checked ? work_turn(turn) : digest;

    if (digest != again) {
        panic("turn %lu: %08lx, then %08lx", (unsigned long)turn, (unsigned long)digest,
              (unsigned long)again);
    }
    return digest;
}

int application_main(void)
{
    static struct periodic periodic;
    static struct watchdog guard;
    const struct periodic_attributes attributes = {.period = NANOSECONDS_PER_MILLISECOND};
    bool is_checked = boot_argument_number("twice", 0, 0, 1) != 0;
    size_t bytes;
    enum kept_start start = kept_open(&record, &format, &progress, &bytes);

    campaign_threads[0] = thread_current();
    progress.life++;
    print("life %lu, %s\n", (unsigned long)progress.life, kept_start_text(start));
    if (heartbeat_start() != RESULT_OK || !open_values() || !start_network() || !start_scrubber() ||
        periodic_start(&periodic, &attributes) != RESULT_OK) {
        print("FAIL: a part is missing\n");
        return 1;
    }
    watchdog_init(&guard, "work", NULL, NULL);
    watchdog_arm(&guard, NULL, GUARD_MS * NANOSECONDS_PER_MILLISECOND);
    for (uint32_t turn = 1;; turn++) {
        (void)periodic_wait(&periodic);
        (void)watchdog_feed(&guard);
        progress.turn = turn;
        progress.digest = do_turn(turn, is_checked);
        write_value(turn);
        (void)kept_write(&record, &progress, sizeof(progress));
        if (turn % TURNS_A_LINE == 0) {
            work_print(turn, progress.digest);
        }
    }
}
