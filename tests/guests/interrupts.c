/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts of every kind on the machine's controller: the timer, private and shared interrupts
 * raised by software, message-signalled interrupts raised through the ITS, shared handlers, numbers
 * without a handler. With the boot argument `messages=no` the machine must have no
 * message-signalled interrupts.
 */
#include "interrupt/controller.h"
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "run_checks.h"
#include <string.h>

#define PRIVATE_UNUSED 20u
#define SHARED_FIRST   200u /* QEMU's virt machine has 288 numbers, the last of them unused */
#define SHARED_COUNT   40u
#define ROUNDS         300u
#define DEVICE_ID      5u
#define EVENTS         4u
#define MESSAGES_MAX   64u

struct counter {
    unsigned count;
    unsigned outside; /* calls not in interrupt context */
};

static void count(void *argument)
{
    struct counter *counter = argument;

    counter->count++;
    counter->outside += !interrupt_context();
}

static struct interrupt_statistics statistics_now(void)
{
    struct interrupt_statistics statistics;

    interrupt_statistics(&statistics);
    return statistics;
}

static bool timer_interrupts(void)
{
    uint64_t handled = statistics_now().handled;
    uint64_t start = time_now();

    for (unsigned round = 0; round < 10; round++) {
        thread_sleep_until(time_after(NANOSECONDS_PER_MILLISECOND));
    }
    CHECK(time_now() - start >= 10 * NANOSECONDS_PER_MILLISECOND);
    CHECK(statistics_now().handled - handled >= 10);
    return true;
}

static bool raise_and_count(uint32_t number, enum interrupt_trigger trigger)
{
    struct counter counter = {0};

    CHECK(!interrupt_context());
    CHECK(interrupt_raise(number) == RESULT_NOT_FOUND);
    CHECK(interrupt_attach(number, trigger, count, &counter) == RESULT_OK);
    CHECK(counter.count == 0);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        CHECK(interrupt_raise(number) == RESULT_OK);
        CHECK(counter.count == round);
    }
    CHECK(counter.outside == 0);
    CHECK(interrupt_detach(number, count, &counter) == RESULT_OK);
    CHECK(interrupt_detach(number, count, &counter) == RESULT_NOT_FOUND);
    return true;
}

static bool private_and_shared_interrupts(void)
{
    return raise_and_count(PRIVATE_UNUSED, INTERRUPT_EDGE) &&
           raise_and_count(SHARED_FIRST, INTERRUPT_EDGE) &&
           raise_and_count(SHARED_FIRST + 1, INTERRUPT_LEVEL);
}

static bool masked_interrupts_wait(void)
{
    struct counter counter = {0};
    interrupt_state state;
    unsigned while_masked;

    CHECK(interrupt_attach(SHARED_FIRST, INTERRUPT_EDGE, count, &counter) == RESULT_OK);
    state = interrupts_save();
    interrupt_raise(SHARED_FIRST);
    while_masked = counter.count;
    interrupts_restore(state);
    CHECK(while_masked == 0);
    CHECK(counter.count == 1);
    CHECK(interrupt_detach(SHARED_FIRST, count, &counter) == RESULT_OK);
    return true;
}

/* Raises more interrupts at once than one exception can handle. */
static bool many_interrupts_at_once(void)
{
    static struct counter counters[SHARED_COUNT];
    interrupt_state state;

    for (uint32_t index = 0; index < SHARED_COUNT; index++) {
        CHECK(interrupt_attach(SHARED_FIRST + index, INTERRUPT_EDGE, count, &counters[index]) ==
              RESULT_OK);
    }
    state = interrupts_save();
    for (uint32_t index = 0; index < SHARED_COUNT; index++) {
        interrupt_raise(SHARED_FIRST + index);
    }
    interrupts_restore(state);
    for (uint32_t index = 0; index < SHARED_COUNT; index++) {
        CHECK(counters[index].count == 1);
        CHECK(interrupt_detach(SHARED_FIRST + index, count, &counters[index]) == RESULT_OK);
    }
    return true;
}

static bool level_interrupts_are_shared(void)
{
    struct counter counters[3] = {{0}};

    for (unsigned index = 0; index < 3; index++) {
        CHECK(interrupt_attach(SHARED_FIRST, INTERRUPT_LEVEL, count, &counters[index]) ==
              RESULT_OK);
    }
    CHECK(interrupt_attach(SHARED_FIRST, INTERRUPT_EDGE, count, &counters[0]) == RESULT_BUSY);
    interrupt_raise(SHARED_FIRST);
    CHECK(interrupt_detach(SHARED_FIRST, count, &counters[1]) == RESULT_OK);
    interrupt_raise(SHARED_FIRST);
    CHECK(counters[0].count == 2 && counters[1].count == 1 && counters[2].count == 2);
    CHECK(interrupt_detach(SHARED_FIRST, count, &counters[0]) == RESULT_OK);
    CHECK(interrupt_detach(SHARED_FIRST, count, &counters[2]) == RESULT_OK);
    return true;
}

static bool edge_interrupts_are_not_shared(void)
{
    struct counter counters[2] = {{0}};

    CHECK(interrupt_attach(SHARED_FIRST, INTERRUPT_EDGE, count, &counters[0]) == RESULT_OK);
    CHECK(interrupt_attach(SHARED_FIRST, INTERRUPT_EDGE, count, &counters[1]) == RESULT_BUSY);
    CHECK(interrupt_attach(SHARED_FIRST, INTERRUPT_LEVEL, count, &counters[1]) == RESULT_BUSY);
    CHECK(interrupt_detach(SHARED_FIRST, count, &counters[0]) == RESULT_OK);
    return true;
}

static bool bad_numbers_are_refused(void)
{
    static const uint32_t numbers[] = {0, 15, 1019, 1020, 1023, 4096, 8192 + 64, UINT32_MAX};
    struct counter counter = {0};

    for (unsigned index = 0; index < sizeof(numbers) / sizeof(numbers[0]); index++) {
        CHECK(interrupt_attach(numbers[index], INTERRUPT_EDGE, count, &counter) == RESULT_INVALID);
    }
    CHECK(interrupt_attach(SHARED_FIRST, INTERRUPT_EDGE, NULL, NULL) == RESULT_INVALID);
    return true;
}

static void enable_and_raise(bool raise)
{
    interrupt_state state = interrupts_save();

    if (raise) {
        arch_interrupt_raise(SHARED_FIRST);
    } else {
        arch_interrupt_enable(SHARED_FIRST);
    }
    interrupts_restore(state);
}

static bool unknown_interrupts_are_disabled(void)
{
    uint64_t unknown = statistics_now().unknown;
    interrupt_state state = interrupts_save();

    arch_interrupt_configure(SHARED_FIRST, INTERRUPT_EDGE);
    interrupts_restore(state);
    enable_and_raise(false);
    enable_and_raise(true);
    CHECK(statistics_now().unknown == unknown + 1);
    enable_and_raise(true); /* disabled, it stays pending */
    CHECK(statistics_now().unknown == unknown + 1);
    enable_and_raise(false); /* clears the pending state */
    CHECK(statistics_now().unknown == unknown + 2);
    return true;
}

/* Returns true if the boot argument says that there is an ITS. */
static bool messages_expected(void)
{
    char value[8] = "";

    return !boot_argument("messages", value, sizeof(value)) || strcmp(value, "no") != 0;
}

static bool messages_arrive(void)
{
    struct interrupt_message message = {0};
    uint32_t number;

    if (!messages_expected()) {
        CHECK(interrupt_message_prepare(DEVICE_ID) == RESULT_UNSUPPORTED);
        CHECK(interrupt_message_allocate(DEVICE_ID, 0, &number, &message) == RESULT_UNSUPPORTED);
        return true;
    }
    for (uint32_t event = 0; event < EVENTS; event++) {
        CHECK(interrupt_message_allocate(DEVICE_ID, event, &number, &message) == RESULT_OK);
        CHECK(message.address != 0 && message.data == event);
        CHECK(raise_and_count(number, INTERRUPT_EDGE));
    }
    CHECK(interrupt_attach(number, INTERRUPT_LEVEL, count, NULL) == RESULT_INVALID);
    print("messages: first %u, %zu bytes\n", number - EVENTS + 1, statistics_now().message_bytes);
    return true;
}

static bool messages_run_out(void)
{
    struct interrupt_message message;
    uint32_t number, first;
    unsigned allocated = EVENTS;
    enum result result = RESULT_OK;

    if (!messages_expected()) {
        return true;
    }
    CHECK(interrupt_message_allocate(DEVICE_ID, INTERRUPT_MESSAGE_EVENTS, &number, &message) ==
          RESULT_INVALID);
    CHECK(interrupt_message_allocate(1 << 20, 0, &number, &message) == RESULT_INVALID);
    CHECK(interrupt_message_allocate(DEVICE_ID, 0, &first, &message) == RESULT_OK);
    for (uint32_t index = 0; result == RESULT_OK && index < 4 * MESSAGES_MAX; index++) {
        result = interrupt_message_allocate(DEVICE_ID + 1 + index / INTERRUPT_MESSAGE_EVENTS,
                                            index % INTERRUPT_MESSAGE_EVENTS, &number, &message);
        allocated += result == RESULT_OK;
    }
    CHECK(result == RESULT_NO_MEMORY);
    CHECK(allocated == MESSAGES_MAX && number == first + MESSAGES_MAX - 1);
    /* A pair that already has a number gets the same number again. */
    CHECK(interrupt_message_allocate(DEVICE_ID, 0, &number, &message) == RESULT_OK);
    CHECK(number == first);
    return raise_and_count(number, INTERRUPT_EDGE);
}

int application_main(void)
{
    static const struct named_check checks[] = {
        {"timer interrupts", timer_interrupts},
        {"private and shared interrupts", private_and_shared_interrupts},
        {"masked interrupts wait", masked_interrupts_wait},
        {"many interrupts at once", many_interrupts_at_once},
        {"level interrupts are shared", level_interrupts_are_shared},
        {"edge interrupts are not shared", edge_interrupts_are_not_shared},
        {"bad numbers are refused", bad_numbers_are_refused},
        {"unknown interrupts are disabled", unknown_interrupts_are_disabled},
        {"messages arrive", messages_arrive},
        {"messages run out", messages_run_out},
    };

    return run_checks(checks, sizeof checks / sizeof checks[0]);
}
