/* SPDX-License-Identifier: BSD-2-Clause */
#include "player.h"

#include "kernel/time.h"
#include "kernel/vcpu.h"
#include <arch/cpu.h>
#include <arch/hypercalls.h>
#include <arch/machine.h>
#include <string.h>

/* Instructions of a job besides diary_work(): before and after it, and for the mutex. They are more
 * than it takes. */
#define AROUND  250u
#define LOCKING 4000u
/* Nanoseconds from the end of a job to the interrupt of the device that the player waits for. */
#define ANSWER 20000u
#define AGAIN  500000u /* each of these interrupts uses budget of the player that serves */

struct stage stage;

static uint64_t less(uint64_t job, uint64_t instructions)
{
    return job > instructions ? job - instructions : 0;
}

/* Returns a number from 0 to `most`. Any sequence does (Knuth, MMIX). */
static uint64_t draw(struct player *player, uint64_t most)
{
    player->seed = player->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return most == 0 ? 0 : (player->seed >> 20) % (most + 1);
}

/* Sleeps until `due`, and begins to work. */
static void wait_for(struct player *player, uint64_t due)
{
    uint64_t now = diary_time();

    if (now < due) {
        diary_write(&player->diary, EVENT_SLEEP, now, 0);
        player->sleep(player, due);
        now = diary_time();
        diary_write(&player->diary, EVENT_WAKE, due, now - due);
        player->diary.last = diary_time();
    }
}

static void execute(struct player *player, uint64_t instructions)
{
    diary_work(&player->diary, instructions, UINT64_MAX);
}

static void finish(struct player *player, uint64_t release)
{
    uint64_t now = diary_time();

    diary_write(&player->diary, EVENT_FINISH, now, now - release);
}

/* Executes a job, a part of it with the mutex. */
static void do_job(struct player *player)
{
    uint64_t rest = less(player->job, AROUND);

    if (player->section == 0) {
        execute(player, rest);
        return;
    }
    rest = less(rest, LOCKING + player->section);
    execute(player, rest / 2);
    (void)mutex_lock(&stage.mutex, DEADLINE_NONE);
    execute(player, player->section);
    (void)mutex_unlock(&stage.mutex);
    execute(player, rest - rest / 2);
}

static void play_jobs(struct player *player)
{
    for (uint64_t release = player->begin; release < player->end;) {
        wait_for(player, release);
        do_job(player);
        finish(player, release);
        release += player->period + draw(player, player->jitter);
    }
}

static void play_spin(struct player *player)
{
    wait_for(player, player->begin);
    diary_work(&player->diary, INT64_MAX, player->end);
}

static void peck(struct player *player, uint64_t end)
{
    while (diary_time() < end) {
        execute(player, player->job);
        wait_for(player, diary_time() + player->nap + draw(player, player->jitter));
    }
}

static void play_pieces(struct player *player)
{
    wait_for(player, player->begin);
    while (player->diary.last < player->end) {
        peck(player, player->diary.last + player->period);
        diary_work(&player->diary, INT64_MAX, player->diary.last + 2 * player->period);
        wait_for(player, diary_time() + draw(player, player->period));
    }
}

static void play_pecks(struct player *player)
{
    wait_for(player, player->begin);
    peck(player, player->end);
}

static void play_calls(struct player *player)
{
    wait_for(player, player->begin);
    while (diary_time() < player->end) {
        (void)arch_firmware_call(true, PSCI_VERSION);
    }
}

/* Holds up more urgent threads that are released in the middle of the job. */
static void play_masks(struct player *player)
{
    for (uint64_t release = player->begin; release < player->end; release += player->period) {
        uint64_t interrupts;

        wait_for(player, release - player->nap);
        interrupts = arch_interrupts_save();
        execute(player, less(player->job, AROUND));
        arch_interrupts_restore(interrupts);
    }
}

/* The interrupt of the device for which the player that asks waits. It comes later if the player
 * does not wait yet. */
static void answer(struct timer *timer, void *argument)
{
    struct player *player = argument;

    if (list_is_empty(&stage.done.waiters.waiters)) {
        stage.requested_at += AGAIN;
        timer_arm(timer, stage.requested_at - player->time_offset);
    } else {
        (void)semaphore_post(&stage.requested);
    }
}

static void play_asks(struct player *player)
{
    struct timer device;

    timer_init(&device, answer, player);
    for (uint64_t release = player->begin; release < player->end;) {
        wait_for(player, release);
        execute(player, player->job);
        stage.requested_at = diary_time() + ANSWER;
        timer_arm(&device, stage.requested_at - player->time_offset);
        (void)vcpu_request_service(stage.server);
        (void)semaphore_wait(&stage.done, DEADLINE_NONE);
        release = stage.requested_at + player->period; /* so that requests are a period apart */
    }
    stage.requested_at = UINT64_MAX;
    (void)semaphore_post(&stage.requested);
}

static void play_serves(struct player *player)
{
    for (;;) {
        (void)semaphore_wait(&stage.requested, DEADLINE_NONE);
        if (stage.requested_at == UINT64_MAX) {
            return;
        }
        player->diary.last = diary_time();
        execute(player, less(player->job, AROUND));
        finish(player, stage.requested_at);
        (void)semaphore_post(&stage.done);
    }
}

static const struct {
    const char *name;
    void (*play)(struct player *player);
} plays[PLAYS] = {
    [PLAY_JOBS] = {"jobs", play_jobs},       [PLAY_SPIN] = {"spin", play_spin},
    [PLAY_PIECES] = {"pieces", play_pieces}, [PLAY_PECKS] = {"pecks", play_pecks},
    [PLAY_CALLS] = {"calls", play_calls},    [PLAY_MASKS] = {"masks", play_masks},
    [PLAY_ASKS] = {"asks", play_asks},       [PLAY_SERVES] = {"serves", play_serves},
};

static bool read_number(const char **text, uint64_t *number)
{
    if (**text != '/') {
        return false;
    }
    (*text)++;
    *number = 0;
    while (**text >= '0' && **text <= '9') {
        *number = *number * 10 + (uint64_t)(**text - '0');
        (*text)++;
    }
    return true;
}

bool player_read(struct player *player, const char *text)
{
    uint64_t *numbers[] = {
        &player->begin,  &player->end, &player->job,     &player->period,
        &player->jitter, &player->nap, &player->section, &player->seed,
    };
    bool is_read = false;

    for (unsigned i = 0; i < PLAYS; i++) {
        size_t length = strlen(plays[i].name);

        if (strncmp(text, plays[i].name, length) == 0) {
            player->play = (enum play)i;
            text += length;
            is_read = true;
            break;
        }
    }
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        is_read = is_read && read_number(&text, numbers[i]);
    }
    return is_read && *text == '\0';
}

void player_play(struct player *player)
{
    plays[player->play].play(player);
}
