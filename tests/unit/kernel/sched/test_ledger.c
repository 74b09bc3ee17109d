/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ledger of a core (sched/ledger.h): random events against a model, and the whole kernel on a
 * machine on which each reading of the clock takes time. All ticks are on accounts, each once, and
 * a thread pays nothing for the wake-ups of others.
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
            timer_arm_periodic(&timer, time_after(chance(50)), 30 + chance(50),
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
 * threads and the kernel, what other threads have executed, and what nobody has paid. */
static uint64_t time_without_account(void)
{
    interrupt_state state = interrupts_save();
    struct core *core = core_this();
    uint64_t sum;
    uint64_t charged;

    (void)core_charge(core);
    charged = core->ledger.charged;
    sum = core->vcpu_report.unpaid;
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
            .policy = policies[i], .C = 100 + chance(100), .T = 1000 + chance(1000)};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_events),
        cmocka_unit_test(test_all_time_is_on_accounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
