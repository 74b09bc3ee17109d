/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of ./bulkhead bench channel that measures how messages follow budgets (Quest-V, Figure
 * 31), at both ends of a channel. A thread on a VCPU of end 0 fills messages and sends them, a
 * thread on a VCPU of end 1 receives them and reads all of their content. They poll. A thread
 * without VCPU spins on each core, so that neither executes without budget.
 *
 * In the bench's machine the counter counts instructions.
 *
 * End 0 reads the boot argument points=SEND/RECEIVE:BYTES[+],...: the budgets of both VCPUs in per
 * cent of their period, and the size of the messages. With `+` a third VCPU on each core, of a
 * shorter period and so of a higher priority, always has work.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/panic.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "vcpu_bench.h"
#include "work.h"
#include <channel/connection.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD       100000u /* microseconds */
#define OTHER_BUDGET 10000u  /* of the VCPU of higher priority */
#define OTHER_PERIOD 50000u
#define PAUSE        1000u /* iterations of work() */
#define POINTS_BYTES 2048u
#define TAG_POINT    1u /* from end 0: begin with this point; from end 1: ready */
#define TAG_CONTENT  2u
#define TAG_END      3u

struct point {
    uint64_t percent[2]; /* of each end's VCPU */
    uint64_t bytes;      /* of a message */
    uint64_t has_other;  /* there is a VCPU of higher priority */
};

static struct {
    struct partition_channel place;
    struct channel channel;
    struct point point;
    uint64_t nanoseconds; /* of a measurement */
    uint64_t messages;    /* that were sent in that time */
    uint64_t sum;         /* of what was read, so that it is read */
    volatile bool is_over;
} side;

_Noreturn void fail(const char *what)
{
    print("channel-budget: FAIL: %s\n", what);
    panic("%s", what);
}

/* Spins for a few microseconds. The machine that counts instructions executes one core at a time,
 * and goes on with the other core at the end. */
static void pause(void)
{
    work(PAUSE);
    __asm__ volatile("yield");
}

static void *reserve(uint64_t length)
{
    void *place = channel_send_begin(&side.channel, length);

    while (place == NULL) {
        pause();
        place = channel_send_begin(&side.channel, length);
    }
    return place;
}

static const void *receive(uint64_t *length, uint32_t *tag)
{
    const void *content = channel_receive_begin(&side.channel, length, tag);

    while (content == NULL) {
        pause();
        content = channel_receive_begin(&side.channel, length, tag);
    }
    return content;
}

static void send_point(const struct point *point)
{
    memcpy(reserve(sizeof(*point)), point, sizeof(*point));
    channel_send_end(&side.channel, sizeof(*point), TAG_POINT);
}

static void receive_point(struct point *point)
{
    uint64_t length;
    uint32_t tag;
    const void *content = receive(&length, &tag);

    if (length != sizeof(*point) || tag != TAG_POINT) {
        fail("no point");
    }
    memcpy(point, content, sizeof(*point));
    channel_receive_end(&side.channel);
}

/* The thread of end 0. */
static void send_messages(void *argument)
{
    uint64_t words = side.point.bytes / sizeof(uint64_t);
    uint64_t end = time_after(side.nanoseconds);

    (void)argument;
    side.messages = 0;
    while (time_now() < end) {
        uint64_t *content = reserve(side.point.bytes);

        for (uint64_t i = 0; i < words; i++) {
            content[i] = side.messages + i;
        }
        channel_send_end(&side.channel, side.point.bytes, TAG_CONTENT);
        side.messages++;
    }
    (void)reserve(0);
    channel_send_end(&side.channel, 0, TAG_END);
}

/* The thread of end 1. */
static void receive_messages(void *argument)
{
    uint32_t tag = TAG_CONTENT;

    (void)argument;
    while (tag != TAG_END) {
        uint64_t length;
        const uint64_t *content = receive(&length, &tag);

        for (uint64_t i = 0; i < length / sizeof(*content); i++) {
            side.sum += content[i];
        }
        channel_receive_end(&side.channel);
    }
}

/* `argument`: counter of the turns. */
static void spin(void *argument)
{
    uint64_t *turns = argument;

    while (!side.is_over) {
        pause();
        ++*turns;
    }
}

/* Executes the thread of this end on its VCPU, beside the others, until it has ended. */
static void measure(void (*run)(void *argument))
{
    uint64_t budget = side.point.percent[side.place.end] * PERIOD / 100;
    int vcpu = make_vcpu("messages", SCHED_SPORADIC, budget, PERIOD);
    int other_vcpu = 0;
    uint64_t spinning_turns = 0, other_turns = 0;
    struct thread *spinning, *thread, *other = NULL;

    side.is_over = false;
    spinning = start_thread("spinning", PRIORITY_SPINNING, 0, spin, &spinning_turns);
    if (side.point.has_other != 0) {
        other_vcpu = make_vcpu("other", SCHED_SPORADIC, OTHER_BUDGET, OTHER_PERIOD);
        other = start_thread("other", PRIORITY_WITHOUT_BUDGET, other_vcpu, spin, &other_turns);
    }
    thread = start_thread("messages", PRIORITY_WITHOUT_BUDGET, vcpu, run, NULL);
    (void)thread_join(thread, DEADLINE_NONE);
    side.is_over = true;
    (void)thread_join(spinning, DEADLINE_NONE);
    if (other != NULL) {
        (void)thread_join(other, DEADLINE_NONE);
        (void)vcpu_destroy(other_vcpu, false);
    }
    if (side.point.has_other != 0 && other_turns == 0) {
        fail("the VCPU of higher priority has not executed");
    }
    if (vcpu_destroy(vcpu, false) != 0) {
        fail("the VCPU can't be destroyed");
    }
}

/* Reads SEND/RECEIVE:BYTES[+]. Returns the text after it and after a comma. */
static char *read_point(char *text, struct point *point)
{
    point->percent[0] = strtoul(text, &text, 10);
    text += *text == '/';
    point->percent[1] = strtoul(text, &text, 10);
    text += *text == ':';
    point->bytes = strtoul(text, &text, 10);
    point->has_other = *text == '+';
    text += *text == '+';
    return *text == ',' ? text + 1 : text;
}

static void measure_point(void)
{
    struct point ready;

    send_point(&side.point);
    receive_point(&ready);
    measure(send_messages);
    print("channel-budget: %llu/%llu:%llu%s messages %llu of %llu ns\n",
          (unsigned long long)side.point.percent[0], (unsigned long long)side.point.percent[1],
          (unsigned long long)side.point.bytes, side.point.has_other != 0 ? "+" : "",
          (unsigned long long)side.messages, (unsigned long long)side.nanoseconds);
}

/* End 1 measures each point that end 0 sends, for ever. */
static void serve_points(void)
{
    for (;;) {
        receive_point(&side.point);
        send_point(&side.point);
        measure(receive_messages);
    }
}

static enum result open_channel(void)
{
    enum result result = partition_channel_open(&side.place, NULL);

    return result == RESULT_OK ? partition_channel_begin(&side.place, &side.channel) : result;
}

int application_main(void)
{
    static char points[POINTS_BYTES];
    enum result result = open_channel();

    if (result != RESULT_OK) {
        fail(result_text(result));
    }
    if (side.place.end == 1) {
        serve_points();
    }
    side.nanoseconds =
        boot_argument_number("milliseconds", 1000, 1, 1000000) * NANOSECONDS_PER_MILLISECOND;
    if (!boot_argument("points", points, sizeof(points))) {
        fail("no points");
    }
    for (char *text = points; *text != '\0';) {
        text = read_point(text, &side.point);
        if (side.point.bytes == 0) {
            fail("no point");
        }
        measure_point();
    }
    print("channel-budget: end\n");
    return 0;
}
