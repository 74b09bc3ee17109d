/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/service.h"

#include "kernel/interrupt.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/vcpu.h"
#include "network_system.h"

/* The bottom half's thread, which never ends. NULL: it has not begun. */
static struct thread *bottom_half;
static bool serves_interrupts; /* the network's interrupts only wake it */

void network_serve_interrupts(void)
{
    serves_interrupts = true;
}

bool network_serves_interrupts(void)
{
    return serves_interrupts;
}

void network_bottom_half_begins(void)
{
    bottom_half = thread_current();
    if (serves_interrupts) {
        interrupt_set_server(bottom_half);
    }
}

void network_step_begins(void)
{
    if (serves_interrupts) {
        interrupt_await_timer();
    }
}

/* Returns true if end() has to follow the wait. */
static bool begin(uint64_t deadline)
{
    return bottom_half != NULL && deadline != DEADLINE_POLL && vcpu_request_service(bottom_half);
}

static void end(bool requested)
{
    if (requested) {
        (void)vcpu_request_service(NULL);
    }
}

enum result network_semaphore_wait(struct semaphore *semaphore, uint64_t deadline)
{
    bool requested = begin(deadline);
    enum result result = semaphore_wait(semaphore, deadline);

    end(requested);
    return result;
}

enum result network_message_receive(struct message_queue *queue, void *message, uint64_t deadline)
{
    bool requested = begin(deadline);
    enum result result = message_queue_receive(queue, message, deadline);

    end(requested);
    return result;
}
