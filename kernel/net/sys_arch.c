/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's operating system layer (lwip/sys.h) on the kernel's threads, mutexes, semaphores and
 * message queues, and the functions that the driver's port needs in addition (network_system.h). As
 * in lwIP, a time-out of 0 means no limit.
 */
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/sys.h"
#include "net/service.h"
#include "network_system.h"

static uint64_t deadline_after(u32_t milliseconds)
{
    return milliseconds == 0 ? DEADLINE_NONE
                             : time_after(milliseconds * NANOSECONDS_PER_MILLISECOND);
}

/* Converts the result of a wait to lwIP's: SYS_ARCH_TIMEOUT if it timed out. */
static u32_t wait_result(enum result result)
{
    return result == RESULT_OK ? 0 : SYS_ARCH_TIMEOUT;
}

void sys_init(void)
{
}

u32_t sys_now(void)
{
    return (u32_t)(time_now() / NANOSECONDS_PER_MILLISECOND);
}

u32_t sys_jiffies(void)
{
    return sys_now();
}

void sys_msleep(u32_t ms)
{
    thread_sleep_until(time_after(ms * NANOSECONDS_PER_MILLISECOND));
}

err_t sys_mutex_new(sys_mutex_t *mutex)
{
    mutex_init(mutex);
    return ERR_OK;
}

void sys_mutex_lock(sys_mutex_t *mutex)
{
    if (mutex_lock(mutex, DEADLINE_NONE) != RESULT_OK) {
        panic("lwIP: lock taken twice");
    }
}

void sys_mutex_unlock(sys_mutex_t *mutex)
{
    if (mutex_unlock(mutex) != RESULT_OK) {
        panic("lwIP: lock released by another thread than took it");
    }
}

void sys_mutex_free(sys_mutex_t *mutex)
{
    (void)mutex;
}

err_t sys_sem_new(sys_sem_t *sem, u8_t count)
{
    /* Binary, because an abort may signal the end of an operation a second time. */
    semaphore_init(sem, count, 1);
    return ERR_OK;
}

void sys_sem_signal(sys_sem_t *sem)
{
    (void)semaphore_post(sem); /* fails if it is already posted, which is harmless */
}

u32_t sys_arch_sem_wait(sys_sem_t *sem, u32_t timeout)
{
    return wait_result(network_semaphore_wait(sem, deadline_after(timeout)));
}

void sys_sem_free(sys_sem_t *sem)
{
    sys_sem_set_invalid(sem);
}

err_t sys_mbox_new(sys_mbox_t *mbox, int size)
{
    uint32_t capacity = size > 0 ? (uint32_t)size : TCPIP_MBOX_SIZE;
    void *storage = heap_allocate(capacity * sizeof(void *));

    if (storage == NULL) {
        sys_mbox_set_invalid(mbox);
        return ERR_MEM;
    }
    message_queue_init(mbox, storage, sizeof(void *), capacity);
    return ERR_OK;
}

void sys_mbox_post(sys_mbox_t *mbox, void *msg)
{
    if (message_queue_send(mbox, (const void *)&msg, DEADLINE_NONE) != RESULT_OK) {
        panic("lwIP: message not delivered");
    }
}

err_t sys_mbox_trypost(sys_mbox_t *mbox, void *msg)
{
    return message_queue_send(mbox, (const void *)&msg, DEADLINE_POLL) == RESULT_OK ? ERR_OK
                                                                                    : ERR_MEM;
}

err_t sys_mbox_trypost_fromisr(sys_mbox_t *mbox, void *msg)
{
    return sys_mbox_trypost(mbox, msg);
}

static u32_t fetch(sys_mbox_t *mbox, void **msg, uint64_t deadline)
{
    void *received = NULL;
    enum result result = network_message_receive(mbox, (void *)&received, deadline);

    if (msg != NULL) {
        *msg = received;
    }
    return wait_result(result);
}

u32_t sys_arch_mbox_fetch(sys_mbox_t *mbox, void **msg, u32_t timeout)
{
    return fetch(mbox, msg, deadline_after(timeout));
}

u32_t sys_arch_mbox_tryfetch(sys_mbox_t *mbox, void **msg)
{
    /* SYS_MBOX_EMPTY is SYS_ARCH_TIMEOUT. */
    return fetch(mbox, msg, DEADLINE_POLL);
}

void sys_mbox_free(sys_mbox_t *mbox)
{
    heap_free(mbox->storage);
    sys_mbox_set_invalid(mbox);
}

sys_thread_t sys_thread_new(const char *name, lwip_thread_fn thread, void *arg, int stacksize,
                            int prio)
{
    struct thread_attributes attributes = {
        .name = name,
        .priority = (unsigned)prio,
        .stack_bytes = (size_t)stacksize,
    };
    struct thread *created = NULL;

    if (thread_create(&created, &attributes, thread, arg) != RESULT_OK) {
        return NULL;
    }
    return created;
}

void *network_memory_allocate(size_t bytes)
{
    return heap_allocate(bytes);
}

void network_memory_free(void *memory)
{
    heap_free(memory);
}

void network_yield(void)
{
    thread_yield();
}

void network_sleep_until(uint64_t nanoseconds)
{
    thread_sleep_until(nanoseconds);
}

/* With net_deferred=1 no interrupt of the network delays a thread that is more urgent than the
 * bottom half. The timer of a nap would. */
enum network_nap_end network_nap(sys_sem_t *semaphore, uint64_t nanoseconds)
{
    if (network_serves_interrupts()) {
        return NETWORK_NAP_IMPOSSIBLE;
    }
    return semaphore_wait(semaphore, time_after(nanoseconds)) == RESULT_OK ? NETWORK_NAP_SIGNALLED
                                                                           : NETWORK_NAP_OVER;
}

void network_wait(sys_sem_t *semaphore)
{
    (void)semaphore_wait(semaphore, DEADLINE_NONE);
}

bool network_is_alone(void)
{
    return thread_is_alone();
}

void network_assertion_failed(const char *message, int line)
{
    panic("lwIP: %s (line %d)", message, line);
}
