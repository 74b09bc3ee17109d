/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explores the mail of a VCPU on a shared core (hypervisor/scheduler/mail.h): two senders on other
 * cores against the core, which executes the VCPU or its neighbour. The core's choices are those of
 * hypervisor/scheduler/shared_core.c, in which the VCPU is the more urgent one. At the end of each
 * execution, after the core has handled its calls and let the VCPU execute if it was woken:
 *   - Each SGI, request and message was taken, and the VCPU saw all that its sender wrote before.
 *   - After its first call for SGIs and requests, and its first one for messages, the core was
 * called only after such mail was removed, and once for each time.
 */
#include "gic/sgi.h"
#include "orders.h"
#include "scheduler/core.h"
#include "scheduler/mail.h"
#include "scheduler/scheduler.h"
#include <arch/device_access.h>
#include <entry/interrupt.h>
#include <gic/listed.h>
#include <gic/remote_access.h>
#include <gic/setup.h>
#include <gic/system_registers.h>
#include <partition/recall.h>
#include <string.h>

#define ORDERS         4u
#define EXECUTIONS_MAX 4000000u

#define TARGET    0u /* VCPUs. The first two have core 0 */
#define NEIGHBOUR 1u
#define FIRST     2u /* the senders */
#define SECOND    3u
#define VCPUS     4u
#define REQUESTED 16u /* its bit follows those of the SGIs */
#define MESSAGED  17u /* messages of the senders: bits 17 + FIRST, 17 + SECOND */
#define KINDS     (MESSAGED + VCPUS)

static struct description description;
static struct partition partition;
static struct vcpu vcpus[VCPUS];
static struct shared_vcpu shared[2];
static struct shared_core core;
static struct processor processor; /* of core 0 */

static uint32_t call;           /* GIC_OWN_SGI is pending on core 0 */
static uint32_t written[KINDS]; /* by bit: what the sender wrote before it sent this */
static uint32_t sent, taken;    /* bits */
static unsigned calls, removed; /* numbers of calls, and of removals from the mail */
static unsigned first_calls;    /* most calls before the first removal */
static unsigned senders;        /* number of threads */
static bool is_runnable;        /* the target */

uint64_t fake_register(const char *name)
{
    MODEL_CHECK(strcmp(name, "tpidr_el2") == 0);
    return (uintptr_t)&processor;
}

/* The barrier before a call orders all earlier accesses before it. */
void device_publish(void)
{
    model_release();
}

void gic_registers_send_group0(uint64_t value)
{
    MODEL_CHECK((value & 0xffff) == 1); /* core 0 */
    MODEL_CHECK(++calls <= first_calls + removed);
    (void)model_update(&call, sizeof(call), UINT32_MAX, 1, 0);
}

void gic_registers_send_group1(uint64_t value)
{
    (void)value;
    model_fail("an SGI is sent that is not for a dedicated core");
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    (void)system;
    (void)interrupt;
    model_fail("no interrupt of the Distributor is used");
}

bool recall_is_called(const struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}

uint64_t scheduler_charge(struct shared_core *charged)
{
    (void)charged;
    return 0;
}

void scheduler_wake(struct processor *on, struct vcpu *vcpu)
{
    on->shared->reschedule = true;
    is_runnable = is_runnable || vcpu == &vcpus[TARGET];
}

/* The VCPU takes what `bit` stands for: it sees what the sender wrote. If it sleeps, it has been
 * woken before, because nothing wakes it for what it has taken. */
static void take(unsigned bit)
{
    MODEL_CHECK(is_runnable);
    MODEL_CHECK(model_load(&written[bit], sizeof(written[bit])) != 0);
    taken |= UINT32_C(1) << bit;
}

void listed_bring_back(struct vcpu *vcpu)
{
    for (uint32_t left = vcpu->list.aside[0]; left != 0; left &= left - 1) {
        take((unsigned)__builtin_ctz(left));
    }
    removed += vcpu->list.aside[0] != 0;
    vcpu->list.aside[0] = 0;
    vcpu->list.has_aside = false;
}

void remote_carry_out(struct vcpu *vcpu)
{
    MODEL_CHECK(vcpu == &vcpus[TARGET]);
    take(REQUESTED);
    removed += vcpu->list.aside[0] == 0;
}

/* Messages leave words that are accessed by atomic operations. */
void interrupt_handle_messages(struct vcpu *vcpu)
{
    MODEL_CHECK(vcpu == &vcpus[TARGET]);
    removed++;
    for (unsigned sender = FIRST; sender <= SECOND; sender++) {
        uint32_t *word = &written[MESSAGED + sender];

        taken |= (uint32_t)model_load(word, sizeof(*word)) << (MESSAGED + sender);
    }
}

static void write_and_send(unsigned bit)
{
    model_store(&written[bit], sizeof(written[bit]), 1);
    sent |= UINT32_C(1) << bit;
}

/* Sends SGI `number` to the target. */
static void send_sgi(unsigned sender, unsigned number)
{
    write_and_send(number);
    (void)scheduler_send_sgi(&vcpus[sender], (uint64_t)number << 24 | 1u << TARGET);
}

static void send_message(unsigned sender)
{
    write_and_send(MESSAGED + sender);
    gic_send(&partition, TARGET);
}

/* That of remote_access.c. */
static void send_request(void)
{
    write_and_send(REQUESTED);
    if (mail_add_waiting(mail_of(&vcpus[TARGET]), MAIL_REQUEST)) {
        gic_call_core(&partition, partition_core(&partition, TARGET));
    }
}

/* Prepares a core that executes the target, or its neighbour while the target sleeps. `sending`:
 * number of threads that send. `kinds`: number of kinds of mail, of the two that call the core. */
static void prepare(unsigned executes, unsigned sending, unsigned kinds)
{
    memset(&description, 0, sizeof(description));
    memset(&partition, 0, sizeof(partition));
    memset(vcpus, 0, sizeof(vcpus));
    memset(shared, 0, sizeof(shared));
    memset(&core, 0, sizeof(core));
    memset(written, 0, sizeof(written));
    call = sent = taken = calls = removed = 0;
    first_calls = kinds;
    senders = sending;
    is_runnable = executes == TARGET;
    description.core_count = VCPUS;
    description.partition_count = 1;
    description.partitions[0].vcpu_count = VCPUS;
    partition.constant = (struct partition_constants){.system = &description,
                                                      .described = &description.partitions[0],
                                                      .shares_cores = true,
                                                      .is_listed = true};
    for (uint32_t i = 0; i < VCPUS; i++) {
        struct description_vcpu *described = &description.partitions[0].vcpus[i];

        described->core = i == NEIGHBOUR ? 0 : i;
        described->shared = 1;
        description.cores[i].affinity = i;
        vcpus[i] =
            (struct vcpu){.partition = &partition, .number = i, .processor = described->core};
    }
    for (uint32_t i = 0; i < 2; i++) {
        vcpus[i].shared = &shared[i];
    }
    vcpus[TARGET].next = &vcpus[NEIGHBOUR];
    processor =
        (struct processor){.vcpu = &vcpus[executes], .vcpus = vcpus, .shared = &core, .index = 0};
}

/* Registers the words with their values: the last step of a preparation. */
static void share(void)
{
    model_share(mail_of(&vcpus[TARGET]), sizeof(uint32_t));
    model_share(mail_of(&vcpus[NEIGHBOUR]), sizeof(uint32_t));
    model_share(&call, sizeof(call));
    model_share(&written[MESSAGED + FIRST], sizeof(written[0]));
    model_share(&written[MESSAGED + SECOND], sizeof(written[0]));
}

/* scheduler_handle_interrupts(), and the end of an exit. */
static void handle_interrupts(void)
{
    if (model_update(&call, sizeof(call), 0, 0, 0) != 0) {
        model_acquire(); /* the barrier of the acknowledgement */
        scheduler_message(processor.vcpu);
    }
}

static void take_message_alone(void)
{
    handle_interrupts();
    mail_handle_message(&vcpus[TARGET]);
    handle_interrupts();
}

/* schedule(), of the target, which executes and has work. */
static void schedule_target(void)
{
    while (core.reschedule) {
        if (shared[TARGET].is_called) {
            take_message_alone();
        }
        core.reschedule = shared[TARGET].is_called;
    }
}

/* change_to() and load() of the target, and of the neighbour. */
static void change_to_target(void)
{
    processor.vcpu = &vcpus[TARGET];
    core.reschedule = false;
    if (!mail_is_empty(mail_of(&vcpus[TARGET]))) {
        mail_deliver(&vcpus[TARGET]);
        core.reschedule = shared[TARGET].is_called;
    }
    schedule_target();
}

static void change_to_neighbour(void)
{
    processor.vcpu = &vcpus[NEIGHBOUR];
    core.reschedule = false;
}

/* An exit of the guest that executes. */
static void exit_once(void)
{
    handle_interrupts();
    if (processor.vcpu == &vcpus[TARGET]) {
        schedule_target();
    } else if (is_runnable) {
        change_to_target();
    }
}

/* scheduler_wait() of the target: then the neighbour executes, or nothing, unless there is work.
 * `sgis`: those that the guest has taken before. */
static void sleep_unless_there_is_work(uint32_t sgis, bool is_idle)
{
    handle_interrupts();
    if (!shared[TARGET].has_message && (taken & MAIL_SGIS & ~sgis) == 0) {
        is_runnable = false;
        if (!is_idle) {
            change_to_neighbour();
        }
        exit_once();
    }
    shared[TARGET].has_message = false;
}

/* After the senders: the core handles the calls, and the target executes if it has work. */
static void end_core(void)
{
    for (unsigned i = 0; i < senders; i++) {
        model_wait(i);
    }
    do {
        exit_once();
    } while (model_load(&call, sizeof(call)) != 0);
    MODEL_CHECK(taken == sent);
    MODEL_CHECK(mail_is_empty(mail_of(&vcpus[TARGET])));
}

static void prepare_executing(void)
{
    prepare(TARGET, 2, 2);
    share();
}

static void prepare_executing_for_one_kind(void)
{
    prepare(TARGET, 2, 1);
    share();
}

static void prepare_executing_with_one_sender(void)
{
    prepare(TARGET, 1, 2);
    share();
}

static void prepare_neighbour(void)
{
    prepare(NEIGHBOUR, 2, 2);
    share();
}

static void prepare_neighbour_for_sgis(void)
{
    prepare(NEIGHBOUR, 2, 1);
    share();
}

static void prepare_neighbour_with_one_sender(void)
{
    prepare(NEIGHBOUR, 1, 2);
    share();
}

/* The target was woken for an SGI, and has not executed since: nothing else calls the core. */
static void prepare_woken(void)
{
    prepare(NEIGHBOUR, 2, 0);
    written[3] = 1;
    sent = 1u << 3;
    MODEL_CHECK(mail_add_waiting(mail_of(&vcpus[TARGET]), sent));
    MODEL_CHECK(mail_wake_vcpus(&processor) == 1);
    share();
}

/* The target handles an exit, sleeps, and so on. */
static void execute_and_sleep(void)
{
    exit_once();
    sleep_unless_there_is_work(taken & MAIL_SGIS, false);
    end_core();
}

static void sleep_at_once(void)
{
    sleep_unless_there_is_work(0, false);
    end_core();
}

/* No VCPU has work, so the target's state stays in the core. */
static void sleep_on_idle_core(void)
{
    sleep_unless_there_is_work(0, true);
    end_core();
}

/* The neighbour executes, and then the target if it was woken. */
static void execute_neighbour(void)
{
    exit_once();
    end_core();
}

/* The neighbour sends an SGI to the target, on one core. */
static void send_from_neighbour(void)
{
    send_sgi(NEIGHBOUR, 5);
    exit_once();
    end_core();
}

/* The target sends an SGI to itself. */
static void send_from_target(void)
{
    send_sgi(TARGET, 6);
    schedule_target();
    sleep_unless_there_is_work(taken & MAIL_SGIS, false);
    end_core();
}

static void first_sends_message(void)
{
    send_message(FIRST);
    model_signal(0);
}

static void first_sends_sgi(void)
{
    send_sgi(FIRST, 1);
    model_signal(0);
}

static void first_sends_message_and_sgi(void)
{
    send_message(FIRST);
    send_sgi(FIRST, 1);
    model_signal(0);
}

static void first_sends_sgis(void)
{
    send_sgi(FIRST, 1);
    send_sgi(FIRST, 4);
    model_signal(0);
}

static void second_sends_sgi(void)
{
    send_sgi(SECOND, 2);
    model_signal(1);
}

static void second_sends_message(void)
{
    send_message(SECOND);
    model_signal(1);
}

static void second_sends_sgi_and_message(void)
{
    send_sgi(SECOND, 2);
    second_sends_message();
}

static void second_sends_request(void)
{
    send_request();
    model_signal(1);
}

static const struct order_program programs[] = {
    {{"message and SGI",
      prepare_executing,
      {execute_and_sleep, first_sends_message, second_sends_sgi}},
     EXECUTIONS_MAX},
    {{"two SGIs",
      prepare_executing_for_one_kind,
      {sleep_at_once, first_sends_sgi, second_sends_sgi}},
     EXECUTIONS_MAX},
    {{"two messages",
      prepare_executing_for_one_kind,
      {sleep_at_once, first_sends_message, second_sends_message}},
     EXECUTIONS_MAX},
    {{"SGI and request",
      prepare_executing_for_one_kind,
      {sleep_at_once, first_sends_sgi, second_sends_request}},
     EXECUTIONS_MAX},
    {{"messages and SGI",
      prepare_executing,
      {execute_and_sleep, first_sends_message, second_sends_sgi_and_message}},
     EXECUTIONS_MAX},
    {{"SGI and message on an idle core",
      prepare_executing,
      {sleep_on_idle_core, first_sends_sgi, second_sends_message}},
     EXECUTIONS_MAX},
    {{"SGIs while it sleeps",
      prepare_neighbour_for_sgis,
      {execute_neighbour, first_sends_sgis, second_sends_sgi}},
     EXECUTIONS_MAX},
    {{"message and SGI while it sleeps",
      prepare_neighbour_with_one_sender,
      {execute_neighbour, first_sends_message_and_sgi}},
     EXECUTIONS_MAX},
    {{"message and request while it sleeps",
      prepare_neighbour,
      {execute_neighbour, first_sends_message, second_sends_request}},
     EXECUTIONS_MAX},
    {{"mail for a woken VCPU",
      prepare_woken,
      {execute_neighbour, first_sends_message, second_sends_sgi}},
     EXECUTIONS_MAX},
    {{"SGI of the neighbour",
      prepare_neighbour_with_one_sender,
      {send_from_neighbour, first_sends_message_and_sgi}},
     EXECUTIONS_MAX},
    {{"SGI to itself",
      prepare_executing_with_one_sender,
      {send_from_target, first_sends_message_and_sgi}},
     EXECUTIONS_MAX},
};

int main(void)
{
    return orders_test(programs, sizeof(programs) / sizeof(programs[0]), ORDERS);
}
