/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work of a victim on a VCPU, alone and beside VCPUs whose threads wake up as often as they
 * can. The victim counts the turns of its loop, and looks at no figure of the kernel: time that the
 * kernel takes from it counts as lost, whoever it was charged to.
 */
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/time.h"
#include "vcpu_bench.h"
#include <arch/cpu.h>
#include <stdbool.h>
#include <string.h>

#define VICTIM_BUDGET 5000u /* microseconds, as the period */
#define VICTIM_PERIOD 10000u
#define NEIGHBOURS    31u
#define THREADS_EACH  2u
#define TURN          40u /* iterations of an empty loop */
#define DELAY         (VICTIM_PERIOD * NANOSECONDS_PER_MICROSECOND)
#define INTERRUPT     240u /* the first of 31 shared interrupts that no device has */

/* The ways in which a neighbour's threads wake up. */
enum attack {
    ATTACK_SLEEP,     /* by a time-out of their own */
    ATTACK_POST,      /* two threads wake each other by semaphores */
    ATTACK_CONDITION, /* two threads wake each other by condition variables */
    ATTACK_YIELD,     /* two threads yield to each other */
    ATTACK_CALLBACK,  /* the callback of a periodic timer, which wakes nobody */
    ATTACK_POSTING,   /* the callback of a periodic timer posts to a semaphore */
    ATTACK_INTERRUPT, /* the handler of an interrupt that the thread raises itself */
    ATTACK_PIECES,    /* by splitting the budget into as many pieces as there can be */
    ATTACKS
};

static const char *const attack_names[ATTACKS] = {
    "sleep", "post", "condition", "yield", "callback", "posting", "interrupt", "pieces",
};

struct neighbour {
    int vcpu;
    struct thread *thread[THREADS_EACH];
    struct semaphore semaphore[THREADS_EACH];
    struct mutex mutex;
    struct condition condition[THREADS_EACH];
    struct timer timer;
};

static struct {
    enum attack kind;
    uint32_t count;  /* neighbours */
    uint64_t budget; /* microseconds, as the period */
    uint64_t period;
    uint64_t sleep; /* nanoseconds */
    uint64_t end;   /* counter value at which all threads end */
    volatile uint64_t victim_turns;
    volatile uint64_t background_turns;
    struct neighbour neighbour[NEIGHBOURS];
} attack;

static bool goes_on(void)
{
    return arch_clock_ticks() < attack.end;
}

static inline void execute_turn(void)
{
    for (uint32_t i = 0; i < TURN; i++) {
        __asm__ volatile("" : : : "memory");
    }
}

static void count_turns(void *turns)
{
    volatile uint64_t *counter = turns;

    while (goes_on()) {
        execute_turn();
        *counter += 1;
    }
}

static void sleep_often(void *argument)
{
    (void)argument;
    while (goes_on()) {
        thread_sleep_until(time_now() + attack.sleep);
    }
}

static void post_first(void *argument)
{
    struct neighbour *own = argument;

    while (goes_on()) {
        (void)semaphore_post(&own->semaphore[1]);
        (void)semaphore_wait(&own->semaphore[0], DEADLINE_NONE);
    }
    (void)semaphore_post(&own->semaphore[1]);
}

static void post_second(void *argument)
{
    struct neighbour *own = argument;

    while (goes_on()) {
        (void)semaphore_wait(&own->semaphore[1], DEADLINE_NONE);
        (void)semaphore_post(&own->semaphore[0]);
    }
}

/* Each wait has a deadline, because the other thread may have ended. */
static void signal_other(struct neighbour *own, unsigned self)
{
    (void)mutex_lock(&own->mutex, DEADLINE_NONE);
    while (goes_on()) {
        (void)condition_signal(&own->condition[1 - self]);
        (void)condition_wait(&own->condition[self], &own->mutex,
                             time_after(NANOSECONDS_PER_MILLISECOND));
    }
    (void)condition_signal(&own->condition[1 - self]);
    (void)mutex_unlock(&own->mutex);
}

static void signal_first(void *argument)
{
    signal_other(argument, 0);
}

static void signal_second(void *argument)
{
    signal_other(argument, 1);
}

static void yield_often(void *argument)
{
    (void)argument;
    while (goes_on()) {
        thread_yield();
    }
}

static void call_nobody(struct timer *timer, void *argument)
{
    (void)argument;
    if (!goes_on()) {
        (void)timer_cancel(timer);
    }
}

static void post_by_timer(struct timer *timer, void *argument)
{
    struct neighbour *own = argument;

    (void)semaphore_post(&own->semaphore[0]);
    call_nobody(timer, NULL);
}

static void arm_timer(struct neighbour *own, void (*callback)(struct timer *, void *))
{
    timer_init(&own->timer, callback, own);
    timer_arm_periodic(&own->timer, time_after(attack.sleep), attack.sleep, TIMER_SKIP_MISSED);
}

static void use_callback(void *argument)
{
    arm_timer(argument, call_nobody);
    while (goes_on()) {
    }
}

static void wait_for_callback(void *argument)
{
    struct neighbour *own = argument;

    arm_timer(own, post_by_timer);
    while (goes_on()) {
        (void)semaphore_wait(&own->semaphore[0], time_after(NANOSECONDS_PER_MILLISECOND));
    }
}

static void post_by_interrupt(void *argument)
{
    struct neighbour *own = argument;

    (void)semaphore_post(&own->semaphore[0]);
}

static void raise_interrupt(void *argument)
{
    struct neighbour *own = argument;
    uint32_t number = INTERRUPT + (uint32_t)(own - attack.neighbour);

    if (interrupt_attach(number, INTERRUPT_EDGE, post_by_interrupt, own) != RESULT_OK) {
        fail("interrupt");
    }
    while (goes_on()) {
        (void)interrupt_raise(number);
        (void)semaphore_wait(&own->semaphore[0], time_after(NANOSECONDS_PER_MILLISECOND));
    }
    (void)interrupt_detach(number, post_by_interrupt, own);
}

/* Executes a part of the budget, and sleeps for a part of the period, until there are as many
 * pieces as there can be. Then uses each piece as soon as it returns. */
static void split_budget(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < 14 && goes_on(); i++) {
        uint64_t until = time_now() + attack.budget * NANOSECONDS_PER_MICROSECOND / 14;

        while (time_now() < until && goes_on()) {
        }
        thread_sleep_until(time_now() + attack.period * NANOSECONDS_PER_MICROSECOND / 20);
    }
    while (goes_on()) {
    }
}

static void (*const entries[ATTACKS][THREADS_EACH])(void *) = {
    {sleep_often, NULL},        {post_first, post_second}, {signal_first, signal_second},
    {yield_often, yield_often}, {use_callback, NULL},      {wait_for_callback, NULL},
    {raise_interrupt, NULL},    {split_budget, NULL},
};

static void start_neighbour(struct neighbour *own)
{
    *own = (struct neighbour){
        .vcpu = make_vcpu("neighbour", SCHED_SPORADIC, attack.budget, attack.period)};
    mutex_init(&own->mutex);
    for (uint32_t i = 0; i < THREADS_EACH; i++) {
        semaphore_init(&own->semaphore[i], 0, 1);
        condition_init(&own->condition[i]);
    }
    for (uint32_t i = 0; i < THREADS_EACH; i++) {
        if (entries[attack.kind][i] != NULL) {
            own->thread[i] = start_thread("neighbour", PRIORITY_WITHOUT_BUDGET, own->vcpu,
                                          entries[attack.kind][i], own);
        }
    }
}

static void end_thread(struct thread *thread)
{
    if (thread != NULL && thread_join(thread, DEADLINE_NONE) != RESULT_OK) {
        fail("join");
    }
}

static void end_neighbour(struct neighbour *own)
{
    for (uint32_t i = 0; i < THREADS_EACH; i++) {
        end_thread(own->thread[i]);
    }
    (void)timer_cancel(&own->timer);
    if (vcpu_destroy(own->vcpu, false) != 0) {
        fail("a VCPU in use");
    }
}

static void wait_and_count(void *start)
{
    thread_sleep_until(*(uint64_t *)start);
    count_turns((void *)&attack.victim_turns);
}

/* The victim's first budget begins with its window, because it sleeps until then. */
static void run_attack(const char *name, uint64_t milliseconds)
{
    int vcpu = make_vcpu("victim", SCHED_SPORADIC, VICTIM_BUDGET, VICTIM_PERIOD);
    uint64_t start = time_after(DELAY);
    uint64_t window = milliseconds * NANOSECONDS_PER_MILLISECOND;
    struct thread *victim;
    struct thread *background;

    attack.victim_turns = 0;
    attack.background_turns = 0;
    attack.end = arch_clock_ticks() +
                 (start + window - time_now()) * arch_clock_frequency() / NANOSECONDS_PER_SECOND;
    victim = start_thread("victim", PRIORITY_WITHOUT_BUDGET, vcpu, wait_and_count, &start);
    for (uint32_t i = 0; i < attack.count; i++) {
        start_neighbour(&attack.neighbour[i]);
    }
    background = start_thread("background", PRIORITY_SPINNING, 0, count_turns,
                              (void *)&attack.background_turns);
    end_thread(victim);
    end_thread(background);
    for (uint32_t i = 0; i < attack.count; i++) {
        end_neighbour(&attack.neighbour[i]);
    }
    if (vcpu_destroy(vcpu, false) != 0) {
        fail("a VCPU in use");
    }
    print("vcpu: attack %s turns %llu background %llu\n", name,
          (unsigned long long)attack.victim_turns, (unsigned long long)attack.background_turns);
}

/* Reads NAME/COUNT/C/T/SLEEP: microseconds, and nanoseconds of sleep. Returns the text after it. */
static char *read_attack(char *text)
{
    char *rest = strchr(text, '/');

    if (rest == NULL) {
        fail("an attack");
    }
    *rest++ = '\0';
    attack.kind = ATTACK_SLEEP;
    while (attack.kind < ATTACKS && strcmp(text, attack_names[attack.kind]) != 0) {
        attack.kind++;
    }
    attack.count = (uint32_t)read_number(&rest);
    rest += *rest == '/';
    attack.budget = read_number(&rest);
    rest += *rest == '/';
    attack.period = read_number(&rest);
    rest += *rest == '/';
    attack.sleep = read_number(&rest);
    if (attack.kind == ATTACKS || attack.count > NEIGHBOURS) {
        fail("an attack");
    }
    return *rest == ',' ? rest + 1 : rest;
}

void measure_attacks(char *attacks, uint64_t milliseconds)
{
    attack.count = 0;
    run_attack("none", milliseconds);
    while (*attacks != '\0') {
        attacks = read_attack(attacks);
        run_attack(attack_names[attack.kind], milliseconds);
    }
}
