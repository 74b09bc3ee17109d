/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handlers of interrupts. A machine has a thousand numbers and uses a dozen, so a small hash table,
 * indexed by the number modulo its size, holds chains of handlers. The handlers of a shared
 * interrupt are neighbours in their chain.
 */
#include "kernel/interrupt.h"

#include "interrupt/controller.h"
#include "interrupt/deferral.h"
#include "interrupt/scheduler_hooks.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "kernel/trace.h"

#define CHAINS 16u

/* Interrupts handled in one exception. Then the exception returns, so that a more urgent thread
 * that a handler has woken can run. */
#define DISPATCH_MAX 32u

/* Maximum number of reports of interrupts without a handler. Further ones are only counted, because
 * an interrupt that cannot be disabled must not fill the console. */
#define REPORTS_MAX 8u

/* So many interrupts of a VCPU without budget are handled until it has budget again; then the
 * interrupt is masked. A driver that suppresses its device's interrupts until its thread has run
 * may get some more before the device sees that (virtio/net/interrupt.c), and in a partition each
 * access to the Distributor is an exit. */
#define UNPAID_MAX 4u

struct handler {
    struct handler *next;
    interrupt_handler function;
    void *argument;
    uint32_t number;
    enum interrupt_trigger trigger;
    uint8_t payer;  /* for scheduler_interrupt_pay() */
    bool is_alarm;  /* the clock's, which is never masked, and whose timers name the payers */
    bool is_masked; /* by interrupt_mask() */
    bool is_held;   /* masked until `release` expires */
    uint8_t unpaid; /* handled without budget before `waits_until` */
    uint64_t waits_until;
    struct timer release;
};

/* Written with interrupts masked. */
static struct handler *chains[CHAINS];
static struct interrupt_statistics counts;

static struct handler **chain_of(uint32_t number)
{
    return &chains[number % CHAINS];
}

/* Returns the first handler of the number, NULL if it has none. */
static struct handler *find(uint32_t number)
{
    struct handler *handler = *chain_of(number);

    while (handler != NULL && handler->number != number) {
        handler = handler->next;
    }
    return handler;
}

/* Returns true if the handler, shares its number with a later one of its chain. */
static bool is_shared(const struct handler *handler)
{
    return handler->next != NULL && handler->next->number == handler->number;
}

/* Adds a handler to the table. Interrupts masked. */
static enum result insert(struct handler *handler)
{
    struct handler *first = find(handler->number);
    enum result result;

    if (first != NULL) {
        if (first->trigger != INTERRUPT_LEVEL || handler->trigger != INTERRUPT_LEVEL ||
            first->is_alarm) {
            return RESULT_BUSY;
        }
        handler->next = first->next;
        first->next = handler;
        /* The other handler may do more than wake the server. */
        arch_interrupt_set_deferrable(handler->number, false);
        return RESULT_OK;
    }
    result = arch_interrupt_configure(handler->number, handler->trigger);
    if (result == RESULT_OK) {
        handler->next = *chain_of(handler->number);
        *chain_of(handler->number) = handler;
        arch_interrupt_enable(handler->number);
    }
    return result;
}

/* The VCPU that pays for the interrupt has budget again, or a thread without budget may run. */
static void end_hold(struct timer *timer, void *argument)
{
    struct handler *handler = argument;

    (void)timer;
    handler->is_held = false;
    if (!handler->is_masked) {
        arch_interrupt_enable(handler->number);
    }
}

enum result interrupt_attach(uint32_t number, enum interrupt_trigger trigger,
                             interrupt_handler function, void *argument)
{
    struct handler *handler;
    interrupt_state state;
    enum result result;

    if (!arch_interrupt_exists(number) || function == NULL) {
        return RESULT_INVALID;
    }
    handler = heap_allocate(sizeof(*handler));
    if (handler == NULL) {
        return RESULT_NO_MEMORY;
    }
    handler->function = function;
    handler->argument = argument;
    handler->number = number;
    handler->trigger = trigger;
    handler->payer = scheduler_caller_vcpu(); /* until it wakes a thread */
    handler->is_alarm = false;
    handler->is_masked = false;
    handler->is_held = false;
    handler->unpaid = 0;
    handler->waits_until = 0;
    timer_init(&handler->release, end_hold, handler);
    state = interrupts_save();
    result = insert(handler);
    interrupts_restore(state);
    if (result != RESULT_OK) {
        heap_free(handler);
    }
    return result;
}

enum result interrupt_detach(uint32_t number, interrupt_handler function, void *argument)
{
    interrupt_state state = interrupts_save();
    struct handler **link = chain_of(number);
    struct handler *handler;

    while (*link != NULL && ((*link)->number != number || (*link)->function != function ||
                             (*link)->argument != argument)) {
        link = &(*link)->next;
    }
    handler = *link;
    if (handler != NULL) {
        if (is_shared(handler)) {
            handler->next->is_masked = handler->is_masked;
        }
        *link = handler->next;
        (void)timer_cancel(&handler->release);
        if (find(number) == NULL) {
            arch_interrupt_disable(number);
        }
    }
    interrupts_restore(state);
    heap_free(handler);
    return handler == NULL ? RESULT_NOT_FOUND : RESULT_OK;
}

enum result interrupt_raise(uint32_t number)
{
    interrupt_state state = interrupts_save();
    enum result result = find(number) == NULL ? RESULT_NOT_FOUND : RESULT_OK;

    if (result == RESULT_OK) {
        arch_interrupt_raise(number);
    }
    interrupts_restore(state);
    return result;
}

static enum result set_enabled(uint32_t number, bool enabled)
{
    interrupt_state state = interrupts_save();
    struct handler *first = find(number);
    enum result result = first == NULL ? RESULT_NOT_FOUND : RESULT_OK;

    if (first != NULL) {
        first->is_masked = !enabled;
    }
    if (result == RESULT_OK && enabled && !first->is_held) {
        arch_interrupt_enable(number);
    } else if (result == RESULT_OK && !enabled) {
        arch_interrupt_disable(number);
    }
    interrupts_restore(state);
    return result;
}

enum result interrupt_mask(uint32_t number)
{
    return set_enabled(number, false);
}

enum result interrupt_unmask(uint32_t number)
{
    return set_enabled(number, true);
}

enum result interrupt_set_deferrable(uint32_t number)
{
    interrupt_state state = interrupts_save();
    const struct handler *first = find(number);
    enum result result = first == NULL ? RESULT_NOT_FOUND : RESULT_OK;

    if (result == RESULT_OK && first->next != NULL && first->next->number == number) {
        result = RESULT_BUSY;
    } else if (result == RESULT_OK) {
        arch_interrupt_set_deferrable(number, true);
    }
    interrupts_restore(state);
    return result;
}

/* Disables an interrupt without a handler (left enabled by the loader, or raised by a device that
 * was never started), which would be signalled again at once. */
static void disable_unhandled(uint32_t number)
{
    arch_interrupt_disable(number);
    counts.unknown++;
    if (counts.unknown <= REPORTS_MAX) {
        print("interrupt %u has no handler: disabled\n", number);
    }
}

void interrupt_set_alarm(uint32_t number)
{
    find(number)->is_alarm = true;
}

/* Counts an interrupt of a VCPU that has no budget until a time. Returns true if it is the last one
 * that is handled before. */
static bool is_last_unpaid(struct handler *handler, uint64_t until)
{
    if (time_now() >= handler->waits_until) {
        handler->waits_until = until;
        handler->unpaid = 0;
    }
    handler->unpaid++;
    return handler->unpaid >= UNPAID_MAX;
}

/* Lets the VCPU that a device's interrupt was for pay for it. While that VCPU has no budget, the
 * interrupt takes no more time from the others' than UNPAID_MAX, because it is masked then. A
 * shared interrupt is not masked: it may be for several VCPUs. Not inline, because the clock's
 * interrupt does not need it. */
__attribute__((noinline)) static void charge_payer(struct handler *handler)
{
    uint64_t until = scheduler_interrupt_pay(&handler->payer);

    if (until != 0 && !is_shared(handler) && !handler->is_masked &&
        is_last_unpaid(handler, until)) {
        handler->is_held = true;
        handler->release.armer = handler->payer;
        arch_interrupt_disable(handler->number);
        timer_arm(&handler->release, until);
    }
}

static void handle(uint32_t number)
{
    struct handler *first = find(number);

    if (first == NULL) {
        disable_unhandled(number);
        return;
    }
    counts.handled++;
    first->function(first->argument);
    if (first->is_alarm) { /* not shared, and most frequent */
        return;
    }
    for (struct handler *handler = first->next; handler != NULL && handler->number == number;
         handler = handler->next) {
        handler->function(handler->argument);
    }
    charge_payer(first);
}

void interrupt_dispatch(void)
{
    const struct deferral *deferral = deferral_this();

    deferral_await_timer(deferral);
    for (unsigned count = 0; count < DISPATCH_MAX; count++) {
        uint32_t number = arch_interrupt_acknowledge();

        if (number == ARCH_INTERRUPT_NONE) {
            counts.spurious += count == 0;
            return;
        }
        if (count > 0) {
            scheduler_interrupt_next();
        }
        trace_event(TRACE_INTERRUPT_ENTRY, number, 0);
        handle(number);
        trace_event(TRACE_INTERRUPT_EXIT, number, 0);
        arch_interrupt_end(number);
        deferral_after_handler(deferral);
    }
}

void interrupt_statistics(struct interrupt_statistics *statistics)
{
    interrupt_state state = interrupts_save();

    *statistics = counts;
    statistics->message_bytes = arch_interrupt_message_bytes();
    interrupts_restore(state);
}

enum result interrupt_init(void)
{
    return arch_interrupt_controller_init();
}

bool interrupt_message_controller(int node)
{
    return arch_interrupt_message_controller(node);
}

enum result interrupt_message_prepare(uint32_t highest_device_id)
{
    return arch_interrupt_message_prepare(highest_device_id);
}

enum result interrupt_message_allocate(uint32_t device_id, uint32_t event, uint32_t *number,
                                       struct interrupt_message *message)
{
    return arch_interrupt_message_allocate(device_id, event, number, message);
}
