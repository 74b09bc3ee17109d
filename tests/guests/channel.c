/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a channel of messages; the same program is at the other end. Each sends numbered
 * messages of various sizes, and checks those that it receives. The boot argument `send` is the
 * number of messages to each life of the other end. With `busy=1` the program never waits, and with
 * `watch=1` it watches the channel instead of sleeping. With `rest=1` it neither sends nor receives
 * for a while after some messages, so that the other end has to wait.
 *
 * Characters at the console: `s` prints a line with counts; `n` rings the other end's doorbell
 * 100,000 times; `w` writes to the other end's section, and `t` to the table of states;
 * `x` executes code in its own section. The hypervisor stops the partition for the last three.
 * A number and `h` attack the other end, with the number as seed; only a restart makes the program
 * honest again.
 */
#include "channel_hostile.h"
#include "kernel/application.h"
#include "kernel/console.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "numbered_messages.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <arch/mmu_translation.h>
#include <channel/copy.h>
#include <channel/wait.h>
#include <stdlib.h>
#include <string.h>

#define REPORT 1000u /* messages */
#define RINGS  100000u
#define BURST  500u /* messages sent before a rest */
#define REST   (20 * NANOSECONDS_PER_MILLISECOND)
#define LOOK   (50 * NANOSECONDS_PER_MILLISECOND) /* between two looks at the console */
#define GRACE  (10 * NANOSECONDS_PER_SECOND)      /* for a doorbell that is under way */
#define RETURN 0xd65f03c0u                        /* the instruction RET */

static struct {
    struct partition_channel place;
    struct partition_waiter waiter;
    struct channel_sleeper sleeper;
    struct channel channel;
    struct numbered_messages messages;
    uint64_t wakes;  /* doorbells that ended a wait */
    uint64_t missed; /* messages that came without a doorbell while the thread waited */
    enum channel_state state;
    bool watches;
    bool rests;
    bool is_wrong;   /* a message of this connection was wrong */
    uint64_t number; /* typed before a command */
    bool is_hostile;
} side;

/* Returns true if a message lies in the other end's ring. */
static bool is_in_ring(const uint8_t *content, uint64_t length)
{
    uint64_t offset = (uint64_t)(content - (const uint8_t *)side.place.peer);

    return offset >= CHANNEL_CONTROL_BYTES && offset <= side.place.section_bytes &&
           length <= side.place.section_bytes - offset;
}

/* Reports the first wrong message of a connection only: after it the expected ones are wrong, too.
 */
static void check_message(const uint8_t *content, uint64_t length, uint32_t tag)
{
    if (!is_in_ring(content, length)) {
        print("channel: OUTSIDE: %p with %llu bytes\n", (const void *)content,
              (unsigned long long)length);
    } else if (!side.is_wrong &&
               !numbered_messages_are_right(&side.messages, content, length, tag)) {
        print("channel: WRONG: message %llu has %llu bytes and tag %u\n",
              (unsigned long long)side.messages.received, (unsigned long long)length, tag);
        side.is_wrong = true;
    }
}

static void begin_connection(void)
{
    numbered_messages_begin(&side.messages);
    side.is_wrong = false;
}

static bool receive_one(void)
{
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = channel_receive_begin(&side.channel, &length, &tag);

    if (content == NULL) {
        return false;
    }
    check_message(content, length, tag);
    channel_receive_end(&side.channel);
    side.messages.received++;
    if (side.messages.received % REPORT == 0) {
        print("channel: received %llu, missed %llu\n", (unsigned long long)side.messages.received,
              (unsigned long long)side.missed);
    }
    return true;
}

/* Prints changes of the state, and connects again after the other end has ended. */
static void follow_state(void)
{
    enum channel_state state = channel_update(&side.channel);

    if (state == side.state) {
        return;
    }
    side.state = state;
    if (state == CHANNEL_CONNECTED) {
        print("channel: connected by %s, end %u\n", side.place.name, side.place.end);
    } else if (state == CHANNEL_ENDED) {
        print("channel: ended after %llu, the other end is %s\n",
              (unsigned long long)side.messages.received,
              partition_channel_peer_state(&side.place) == 0 ? "absent" : "there");
        begin_connection();
        channel_accept(&side.channel);
        follow_state();
    } else if (state == CHANNEL_FAILED) {
        print("channel: FAILED: %s (0x%llx)\n", channel_error_text(side.channel.error.kind),
              (unsigned long long)side.channel.error.value);
        begin_connection();
        channel_reset(&side.channel);
        /* So that the next failure is noticed if no other state is seen before it. */
        side.state = CHANNEL_CONNECTING;
    }
}

static bool has_message(void)
{
    uint64_t length;
    uint32_t tag;

    return channel_receive_begin(&side.channel, &length, &tag) != NULL;
}

/* Sleeps, and counts messages for which no doorbell rang: it is still armed. */
static bool sleep_and_watch(void *context, uint64_t deadline)
{
    bool is_in_time = partition_waiter_sleep(context, deadline);

    if (is_in_time) {
        side.wakes++;
    } else if (has_message() && side.place.is_armed &&
               !partition_waiter_sleep(context, time_after(GRACE))) {
        side.missed++;
    }
    return is_in_time;
}

static void wait(void)
{
    struct channel_wait waits[2] = {channel_wait_for_message(&side.channel)};
    size_t count = 1;

    if (side.messages.sent < side.messages.to_send && side.state == CHANNEL_CONNECTED) {
        waits[count++] = channel_wait_for_space(
            &side.channel, numbered_messages_length(&side.messages, side.messages.sent));
    }
    if (side.watches) {
        struct channel_watcher watcher = partition_channel_watcher(&side.place);

        (void)channel_watch_any(waits, count, &watcher, time_after(LOOK));
    } else {
        (void)channel_wait_any(waits, count, &side.sleeper, time_after(LOOK));
    }
}

/* The kernel's own tables permit the write from now on. */
static void write_to(const void *place)
{
    void *page = (void *)(uintptr_t)place;

    if (arch_mmu_unmap(page, PAGE_BYTES) != RESULT_OK ||
        arch_mmu_map_memory((uintptr_t)page, PAGE_BYTES) != RESULT_OK) {
        print("channel: can't map %p\n", page);
        return;
    }
    *(volatile uint32_t *)page = 1;
    print("channel: WRONG: wrote to %p\n", page);
}

/* Executes the last word of the control page, because the other end reads all before it. The
 * kernel's own interface never maps memory as executable. */
static void execute(void)
{
    void *page = side.place.own;
    uint32_t *code = (uint32_t *)page + CHANNEL_CONTROL_BYTES / sizeof(*code) - 1;
    interrupt_state state;
    enum result result;

    *code = RETURN;
    device_publish_uncached(code, sizeof(*code));
    result = arch_mmu_unmap(page, PAGE_BYTES);
    state = interrupts_save();
    if (result == RESULT_OK) {
        result = translation_map(mmu_translation(), (uintptr_t)page, PAGE_BYTES, TRANSLATION_CODE);
    }
    interrupts_restore(state);
    if (result != RESULT_OK) {
        print("channel: can't map %p\n", page);
        return;
    }
    __asm__ volatile("ic ialluis\n\tdsb ish\n\tisb" : : : "memory");
    ((void (*)(void))(uintptr_t)code)();
    print("channel: WRONG: executed at %p\n", page);
}

static void obey(char command)
{
    switch (command) {
    case 's':
        print("channel: sent %llu, received %llu, wakes %llu, missed %llu\n",
              (unsigned long long)side.messages.sent, (unsigned long long)side.messages.received,
              (unsigned long long)side.wakes, (unsigned long long)side.missed);
        break;
    case 'n':
        for (unsigned i = 0; i < RINGS; i++) {
            partition_channel_notify(&side.place);
        }
        print("channel: rang %u times\n", RINGS);
        break;
    case 'h':
        side.is_hostile = true;
        channel_hostile_attack(&side.place, side.number);
        side.number = 0;
        break;
    case 'w':
        write_to(side.place.peer);
        break;
    case 'x':
        execute();
        break;
    case 't':
        write_to(side.place.states);
        break;
    default:
        if (command >= '0' && command <= '9') {
            side.number = 10 * side.number + (uint64_t)(command - '0');
        }
        break;
    }
}

static enum result open_channel(void)
{
    enum result result = partition_channel_open(&side.place, NULL);

    if (result != RESULT_OK) {
        return result;
    }
    partition_waiter_init(&side.waiter);
    result = partition_waiter_add(&side.waiter, &side.place);
    side.sleeper = partition_waiter_sleeper(&side.waiter);
    side.sleeper.sleep = sleep_and_watch;
    numbered_messages_init(&side.messages, side.place.section_bytes);
    return result == RESULT_OK ? partition_channel_begin(&side.place, &side.channel) : result;
}

static void take_turn(void)
{
    bool has_received = receive_one(),
         has_sent = numbered_messages_send(&side.messages, &side.channel);

    follow_state();
    if (side.rests && has_sent && side.messages.sent % BURST == 0) {
        thread_sleep_until(time_after(REST));
    } else if (!has_received && !has_sent) {
        wait();
    }
}

int application_main(void)
{
    enum result result = open_channel();
    char command;

    if (result != RESULT_OK) {
        print("channel: %s\n", result_text(result));
        return 1;
    }
    side.messages.to_send = boot_argument_number("send", 0, 0, UINT64_MAX);
    side.watches = boot_argument_number("watch", 0, 0, 1) != 0;
    side.rests = boot_argument_number("rest", 0, 0, 1) != 0;
    side.state = CHANNEL_CONNECTING;
    print("channel: waits for the other end\n");
    if (boot_argument_number("busy", 0, 0, 1) != 0) {
        print("channel: is busy\n");
        for (;;) {
        }
    }
    for (;;) {
        take_turn();
        while (console_read(&command, side.is_hostile ? DEADLINE_NONE : DEADLINE_POLL) ==
               RESULT_OK) {
            obey(command);
        }
    }
}
