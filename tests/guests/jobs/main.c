/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that always wants its budget at the worst instant, and writes down what it received
 * (diary.h). The boot argument `play` makes it one player (player.h) with interrupts masked, so
 * that what is measured is the hypervisor's alone. Otherwise `t0`, `t1` and so on are players in
 * threads of these names, which VCPUs may name. It prints where the diaries are at `print`,
 * nanoseconds of the physical counter, so that this disturbs no other guest.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "player.h"
#include <arch/cpu.h>
#include <arch/gic_cpu_interface.h>
#include <stdbool.h>
#include <string.h>

#define PLAYERS      8u
#define RECORDS      65536u
#define PLAY_BYTES   160u
#define STACK_BYTES  16384u
#define READINGS     16u
#define NO_INTERRUPT 1020u /* IHI 0069, "Special INTIDs" */

static struct record records[RECORDS];
static struct player players[PLAYERS];
static uint64_t virtual_offset; /* of the virtual counter to the physical one */
static uint64_t kernel_offset;  /* of the kernel's time */

static void set_timer(uint64_t due)
{
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                     :
                     : "r"(due), "r"(UINT64_C(1))
                     : "memory");
}

/* The timer's interrupt is pending: takes it. */
static void take_interrupt(void)
{
    uint32_t number;

    __asm__ volatile("msr cntv_ctl_el0, xzr\n\tisb" : : : "memory");
    number = gic_cpu_acknowledge();
    if (number < NO_INTERRUPT) {
        gic_cpu_end(number);
    }
}

static void sleep_masked(struct player *player, uint64_t due)
{
    (void)player;
    set_timer(due - virtual_offset);
    do {
        __asm__ volatile("wfi" : : : "memory");
    } while (diary_time() < due);
    take_interrupt();
}

static void sleep_in_thread(struct player *player, uint64_t due)
{
    thread_sleep_until(due - player->time_offset);
}

/* Other guests may execute between two readings, so the smallest of several differences is taken.
 */
static void read_offsets(void)
{
    virtual_offset = UINT64_MAX;
    kernel_offset = UINT64_MAX;
    for (unsigned i = 0; i < READINGS; i++) {
        uint64_t virtual = arch_clock_ticks();
        uint64_t difference = diary_time() - virtual;

        virtual_offset = difference < virtual_offset ? difference : virtual_offset;
    }
    for (unsigned i = 0; i < READINGS; i++) {
        uint64_t kernel = time_now();
        uint64_t difference = diary_time() - kernel;

        kernel_offset = difference < kernel_offset ? difference : kernel_offset;
    }
}

static bool read_player(struct player *player, const char *name)
{
    char text[PLAY_BYTES];

    return boot_argument(name, text, sizeof(text)) && player_read(player, text);
}

static void play_alone(struct player *player)
{
    uint64_t interrupts = arch_interrupts_save();

    diary_begin(&player->diary, records, RECORDS);
    player->sleep = sleep_masked;
    player_play(player);
    set_timer(arch_clock_ticks()); /* the kernel sets its timer again */
    arch_interrupts_restore(interrupts);
}

static void play_in_thread(void *player)
{
    player_play(player);
}

static bool start_thread(struct player *player, unsigned number)
{
    const char name[] = {'t', (char)('0' + number), '\0'};
    const struct thread_attributes attributes = {
        .name = name, .priority = THREAD_PRIORITY_LOWEST + number, .stack_bytes = STACK_BYTES};

    if (!read_player(player, name)) {
        return false;
    }
    diary_begin(&player->diary, records + number * (RECORDS / PLAYERS), RECORDS / PLAYERS);
    player->diary.gap = UINT64_MAX;
    player->sleep = sleep_in_thread;
    player->time_offset = kernel_offset;
    if (thread_create(&player->thread, &attributes, play_in_thread, player) != RESULT_OK) {
        return false;
    }
    if (player->play == PLAY_SERVES) {
        stage.server = player->thread;
    }
    return true;
}

static unsigned play_in_threads(void)
{
    unsigned count = 0;

    mutex_init(&stage.mutex);
    semaphore_init(&stage.requested, 0, 1);
    semaphore_init(&stage.done, 0, 1);
    while (count < PLAYERS && start_thread(&players[count], count)) {
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        (void)thread_join(players[i].thread, DEADLINE_NONE);
    }
    return count;
}

static uint64_t report_time(void)
{
    return boot_argument_number("print", 0, 0, UINT64_MAX) - kernel_offset;
}

static void report(const struct player *player)
{
    print("jobs: %u records at %p.\n", (unsigned)(player->diary.next - player->diary.first),
          (const void *)player->diary.first);
}

int application_main(void)
{
    bool is_late;
    unsigned count = 1;

    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    read_offsets();
    if (read_player(&players[0], "play")) {
        is_late = diary_time() >= players[0].begin;
        play_alone(&players[0]);
    } else {
        is_late = diary_time() >= boot_argument_number("begin", 0, 0, UINT64_MAX);
        count = play_in_threads();
    }
    thread_sleep_until(report_time());
    if (is_late) {
        print("jobs: began late\n");
    }
    for (unsigned i = 0; i < count; i++) {
        report(&players[i]);
    }
    print("jobs: end\n");
    return 0;
}
