/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ledger of a core (sched/ledger.h): random events against a model, and the whole kernel on a
 * machine on which each reading of the clock takes time. All ticks are on accounts, each once, and
 * a thread pays nothing for the wake-ups of others, nor for the time for which the processor
 * executes other guests, whenever it does.
 */
#include "kernel/sync.h"
#include "kernel/vcpu.h"
#include "kernel_fixture.h"
#include "sched/core.h"
#include "sched/thread_private.h"
#include <string.h>

#define SEEDS    200u
#define EVENTS   500u
#define ACCOUNTS 4u
#define END      UINT64_C(60000)
#define WORKERS  8u
#define VCPUS    4u

static uint64_t seed;

static uint64_t chance(uint64_t limit)
{
    return random_below(&seed, limit);
}

/* The ledger needs only the addresses of its payers. */
static struct vcpu accounts[ACCOUNTS];

struct model {
    struct ledger ledger;
    uint64_t now;
    uint64_t executed; /* by the thread, without the kernel's work */
    uint64_t thread;   /* charged to it */
    uint64_t unpaid;   /* charged to nobody */
    uint64_t work[ACCOUNTS];
};

/* Charges the payer as the scheduler does at the end of an interrupt. */
static void settle(struct model *model)
{
    if (model->ledger.has_payer) {
        model->work[model->ledger.payer - accounts] += ledger_take(&model->ledger, model->now);
        model->ledger.has_payer = false;
    } else {
        model->unpaid += ledger_take(&model->ledger, model->now);
    }
}

/* An interrupt that takes the overhead, which the kernel does not see, and wakes up to two
 * threads. */
static void interrupt(struct model *model)
{
    uint64_t wakes = chance(3);
    uint64_t before = model->ledger.overhead / 2;

    model->now += before;
    model->thread += ledger_take_interrupted(&model->ledger, model->now);
    CHECK_EQUAL(ledger_take_interrupted(&model->ledger, model->now), 0);
    for (uint64_t i = 0; i < wakes; i++) {
        struct vcpu *payer = &accounts[chance(ACCOUNTS)];

        model->now += chance(20);
        if (ledger_has_other_payer(&model->ledger, payer)) {
            settle(model);
        }
        ledger_name_payer(&model->ledger, payer);
    }
    model->now += chance(20);
    settle(model);
    model->now += model->ledger.overhead - before; /* the way back */
}

static void test_random_events(void **state)
{
    (void)state;
    for (unsigned run = 1; run <= SEEDS; run++) {
        struct model model = {.now = 1000};
        uint64_t began = model.now;
        uint64_t sum;

        seed = run;
        ledger_init(&model.ledger, began);
        model.ledger.overhead = chance(10);
        for (unsigned i = 0; i < EVENTS; i++) {
            uint64_t ticks = chance(50);

            model.executed += ticks;
            model.now += ticks;
            interrupt(&model);
        }
        model.thread += ledger_take(&model.ledger, model.now);
        sum = model.thread + model.unpaid;
        for (unsigned i = 0; i < ACCOUNTS; i++) {
            sum += model.work[i];
        }
        CHECK_EQUAL(sum, model.now - began);
        /* The way back from the latest interrupt is known at the next one only. */
        CHECK(model.thread >= model.executed);
        CHECK(model.thread <= model.executed + model.ledger.overhead);
    }
}

static struct semaphore semaphores[VCPUS];
static struct thread *workers[WORKERS];
static int vcpus[VCPUS];

static void post_some(void *argument)
{
    (void)argument;
    host_clock_advance(chance(3));
    for (uint64_t count = chance(3); count > 0; count--) {
        (void)semaphore_post(&semaphores[chance(VCPUS)]);
    }
}

static void call_back(struct timer *timer, void *argument)
{
    (void)timer;
    if (chance(4) == 0) {
        post_some(argument);
    }
}

static void work(void *argument)
{
    struct timer timer;

    timer_init(&timer, call_back, NULL);
    while (time_now() < END) {
        host_clock_advance(chance(60));
        switch (chance(7)) {
        case 0:
            host_interrupt(post_some, NULL);
            break;
        case 1:
            (void)semaphore_post(&semaphores[chance(VCPUS)]);
            break;
        case 2:
            (void)semaphore_wait(&semaphores[(uintptr_t)argument % VCPUS], time_after(chance(200)));
            break;
        case 3:
            thread_yield();
            break;
        case 4:
            /* The interrupts of eight of them leave time for the threads. */
            timer_arm_periodic(&timer, time_after(chance(50)), 200 + chance(200),
                               (enum timer_catch_up)chance(2));
            break;
        case 5:
            (void)timer_cancel(&timer);
            break;
        default:
            thread_sleep_until(time_after(chance(100)));
        }
    }
    (void)timer_cancel(&timer);
}

/* Returns the time that is on no account: until the latest charge, without what VCPUs have paid for
 * threads and the kernel, what other threads have executed, what nobody has paid, and the absence.
 */
static uint64_t time_without_account(void)
{
    interrupt_state state = interrupts_save();
    struct core *core = core_this();
    uint64_t sum;
    uint64_t charged;

    (void)core_charge(core);
    charged = core->ledger.charged;
    sum = core->vcpu_report.unpaid + core->ledger.absence;
    LIST_FOR_EACH(node, &core->threads)
    {
        const struct thread *thread = CONTAINER_OF(node, struct thread, all_node);

        sum += thread_payer(thread) == NULL && thread->state != THREAD_FINISHED ? thread->run_ticks
                                                                                : 0;
    }
    for (int id = 1; id <= (int)VCPU_MAX; id++) {
        const struct vcpu *vcpu = vcpu_set_find(&core->policy.vcpus, id);

        if (vcpu != NULL) {
            sum += vcpu->record->received + vcpu->record->background + vcpu->span - vcpu->left;
        }
    }
    CHECK_EQUAL(charged, core->vcpu_report.accounted_until);
    interrupts_restore(state);
    return charged - sum;
}

static void init_all_time(void)
{
    static const enum vcpu_policy policies[VCPUS] = {SCHED_SPORADIC, SCHED_SPORADIC, SCHED_SPORADIC,
                                                     SCHED_PIBS};
    uint64_t before;

    host_clock_set_reading_ticks(1);
    for (unsigned i = 0; i < VCPUS; i++) {
        struct vcpu_param param = {
            .policy = policies[i], .C = 100 + chance(100), .T = 3000 + chance(1000)};

        semaphore_init(&semaphores[i], 0, 3);
        vcpus[i] = vcpu_create(&param);
        CHECK(vcpus[i] > 0);
    }
    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    for (unsigned i = 0; i < WORKERS; i++) {
        /* The last two have no VCPU. */
        workers[i] = start("worker", 10 + (unsigned)chance(5), work, (void *)(uintptr_t)i);
        CHECK_EQUAL(vcpu_bind_thread(workers[i], i < 6 ? vcpus[i % VCPUS] : 0), 0);
    }
    before = time_without_account();
    while (time_now() < END - END / 10) {
        thread_sleep_until(time_after(END / 60));
        CHECK_EQUAL(time_without_account(), before);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        finish(workers[i]);
    }
}

static void test_all_time_is_on_accounts(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= SEEDS; i++) {
        seed = i;
        kernel_run(init_all_time);
    }
}

/* The time for which the processor executes other guests, as the hypervisor shows it. */
static struct vcpu_absence shown;

static void be_absent(uint64_t ticks, uint64_t way_back)
{
    host_clock_pass(ticks);
    shown.ticks += ticks;
    shown.ways_back += way_back;
}

/* The processor has been absent for some time already. */
static void share_processor(void (*around_reading)(bool has_read))
{
    shown = (struct vcpu_absence){.ticks = 1000, .ways_back = 10};
    core_follow_absence(&shown);
    host_clock_watch(around_reading);
}

static void be_absent_sometimes(bool has_read)
{
    (void)has_read;
    if (chance(20) == 0) {
        be_absent(1 + chance(40), chance(4));
    }
}

static void init_absent(void)
{
    share_processor(be_absent_sometimes);
    init_all_time();
}

static void test_all_time_but_the_absence_is_on_accounts(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= SEEDS; i++) {
        seed = i;
        kernel_run(init_absent);
    }
}

/* A script in which threads are interrupted, woken, preempted and block, without any timer. The
 * processor is absent once, at one of the readings of the clock. */
#define ABSENCE UINT64_C(100000)
#define BUDGET  UINT64_C(10000000)
#define ROUNDS  4u

static uint64_t readings, absent_at;

static void be_absent_once(bool has_read)
{
    if (readings == absent_at) {
        be_absent(ABSENCE, 1);
    }
    readings++;
    (void)has_read;
}

static void post_all(void *argument)
{
    (void)argument;
    host_clock_advance(30);
    for (unsigned i = 0; i < VCPUS; i++) {
        (void)semaphore_post(&semaphores[i]);
        host_clock_advance(40);
    }
}

static void nothing(void *argument)
{
    (void)argument;
    host_clock_advance(50);
}

static void play(void *argument)
{
    uintptr_t number = (uintptr_t)argument;

    for (unsigned i = 0; i < ROUNDS; i++) {
        (void)semaphore_wait(&semaphores[number], DEADLINE_NONE);
        host_clock_advance(1000 + 100 * number);
        host_interrupt(nothing, NULL);
        host_clock_advance(500);
        (void)semaphore_post(&semaphores[(number + 1) % VCPUS]);
        host_clock_advance(200);
        thread_yield();
        (void)semaphore_wait(&semaphores[number], 0);
    }
}

/* The ticks that each account of the script got. */
struct accounts {
    uint64_t of_vcpu[VCPUS];
    uint64_t none; /* on no account */
    uint64_t elapsed;
};

static struct accounts found;

static void init_script(void)
{
    uint64_t began;

    host_clock_set_reading_ticks(1);
    readings = 0;
    share_processor(be_absent_once);
    began = core_this()->ledger.charged;
    found = (struct accounts){.elapsed = 0};
    for (unsigned i = 0; i < VCPUS; i++) {
        struct vcpu_param param = {
            .policy = SCHED_SPORADIC, .C = BUDGET, .T = 10 * BUDGET + 1000 * i};

        semaphore_init(&semaphores[i], 0, 10);
        vcpus[i] = vcpu_create(&param);
        CHECK(vcpus[i] > 0);
        workers[i] = start("player", 10, play, (void *)(uintptr_t)i);
        CHECK_EQUAL(vcpu_bind_thread(workers[i], vcpus[i]), 0);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        host_interrupt(post_all, NULL);
        thread_yield();
    }
    for (unsigned i = 0; i < VCPUS; i++) {
        finish(workers[i]);
    }
    found.none = time_without_account();
    for (unsigned i = 0; i < VCPUS; i++) {
        const struct vcpu *vcpu = vcpu_set_find(&core_this()->policy.vcpus, vcpus[i]);

        found.of_vcpu[i] =
            vcpu->record->received + vcpu->record->background + vcpu->span - vcpu->left;
    }
    found.elapsed = core_this()->ledger.charged - began;
}

static uint64_t difference(uint64_t one, uint64_t other)
{
    return one > other ? one - other : other - one;
}

/* A reading of the clock is repeated if the processor was absent meanwhile. */
#define REPEATED 4u

static void test_nobody_pays_for_an_absence_at_any_position(void **state)
{
    struct accounts without;
    uint64_t count;

    (void)state;
    absent_at = UINT64_MAX;
    kernel_run(init_script);
    without = found;
    count = readings;
    for (absent_at = 0; absent_at < count; absent_at++) {
        kernel_run(init_script);
        for (unsigned i = 0; i < VCPUS; i++) {
            assert_true(difference(found.of_vcpu[i], without.of_vcpu[i]) <= REPEATED);
        }
        assert_true(difference(found.elapsed, without.elapsed + ABSENCE) <= REPEATED);
        assert_true(difference(found.none, without.none) <= REPEATED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_events),
        cmocka_unit_test(test_all_time_is_on_accounts),
        cmocka_unit_test(test_all_time_but_the_absence_is_on_accounts),
        cmocka_unit_test(test_nobody_pays_for_an_absence_at_any_position),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
