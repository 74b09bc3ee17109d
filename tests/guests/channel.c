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
#include "numbered_exchange.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <arch/mmu_translation.h>
#include <channel/wait.h>
#include <stdlib.h>
#include <string.h>

#define RINGS  100000u
#define BURST  500u /* messages sent before a rest */
#define REST   (20 * NANOSECONDS_PER_MILLISECOND)
#define LOOK   (50 * NANOSECONDS_PER_MILLISECOND) /* between two looks at the console */
#define GRACE  (10 * NANOSECONDS_PER_SECOND)
#define RETURN 0xd65f03c0u /* the instruction RET */

static struct {
    bool watches;
    bool rests;
    uint64_t number; /* typed before a command */
    bool is_hostile;
} program;

void exchange_print(const char *text)
{
    print("channel: %s\n", text);
}

uint64_t exchange_time_after(uint64_t nanoseconds)
{
    return time_after(nanoseconds);
}

static void wait(void)
{
    struct channel_wait waits[2];
    size_t count = exchange_waits(waits);

    if (program.watches) {
        struct channel_watcher watcher = partition_channel_watcher(&exchange.place);

        (void)channel_watch_any(waits, count, &watcher, time_after(LOOK));
    } else {
        (void)channel_wait_any(waits, count, &exchange.sleeper, time_after(LOOK));
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
    void *page = exchange.place.own;
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
              (unsigned long long)exchange.messages.sent,
              (unsigned long long)exchange.messages.received, (unsigned long long)exchange.wakes,
              (unsigned long long)exchange.missed);
        break;
    case 'n':
        for (unsigned i = 0; i < RINGS; i++) {
            partition_channel_notify(&exchange.place);
        }
        print("channel: rang %u times\n", RINGS);
        break;
    case 'h':
        program.is_hostile = true;
        channel_hostile_attack(&exchange.place, program.number);
        program.number = 0;
        break;
    case 'w':
        write_to(exchange.place.peer);
        break;
    case 'x':
        execute();
        break;
    case 't':
        write_to(exchange.place.states);
        break;
    default:
        if (command >= '0' && command <= '9') {
            program.number = 10 * program.number + (uint64_t)(command - '0');
        }
        break;
    }
}

static void take_turn(void)
{
    bool has_received = exchange_receive(), has_sent = exchange_send();

    exchange_follow_state();
    if (program.rests && has_sent && exchange.messages.sent % BURST == 0) {
        thread_sleep_until(time_after(REST));
    } else if (!has_received && !has_sent) {
        wait();
    }
}

int application_main(void)
{
    enum result result = exchange_open(boot_argument_number("send", 0, 0, UINT64_MAX), GRACE);
    char command;

    if (result != RESULT_OK) {
        print("channel: %s\n", result_text(result));
        return 1;
    }
    program.watches = boot_argument_number("watch", 0, 0, 1) != 0;
    program.rests = boot_argument_number("rest", 0, 0, 1) != 0;
    print("channel: waits for the other end\n");
    if (boot_argument_number("busy", 0, 0, 1) != 0) {
        print("channel: is busy\n");
        for (;;) {
        }
    }
    for (;;) {
        take_turn();
        while (console_read(&command, program.is_hostile ? DEADLINE_NONE : DEADLINE_POLL) ==
               RESULT_OK) {
            obey(command);
        }
    }
}
