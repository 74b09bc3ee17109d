/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's operating system layer (lwip/sys.h) on RTEMS, and the functions that the driver's port
 * needs in addition (network_system.h). */
#include "lwip/sys.h"
#include "network_system.h"
#include <rtems/bspIo.h>
#include <stdlib.h>

/* Converts milliseconds to ticks, rounding up. 0 means no time limit, in lwIP and in RTEMS. */
static rtems_interval ticks_of(u32_t milliseconds)
{
    uint64_t tick = rtems_configuration_get_microseconds_per_tick();

    return milliseconds == 0
               ? RTEMS_NO_TIMEOUT
               : (rtems_interval)((milliseconds * UINT64_C(1000) + tick - 1) / tick + 1);
}

void sys_init(void)
{
}

u32_t sys_now(void)
{
    return (u32_t)(rtems_clock_get_uptime_nanoseconds() / 1000000);
}

err_t sys_mutex_new(sys_mutex_t *mutex)
{
    rtems_mutex_init(mutex, "lwIP");
    return ERR_OK;
}

void sys_mutex_lock(sys_mutex_t *mutex)
{
    rtems_mutex_lock(mutex);
}

void sys_mutex_unlock(sys_mutex_t *mutex)
{
    rtems_mutex_unlock(mutex);
}

/* A binary semaphore, because lwIP signals the end of an operation once, but an abort of the
 * operation may signal it again. */
err_t sys_sem_new(sys_sem_t *sem, u8_t count)
{
    rtems_binary_semaphore_init(&sem->object, "lwIP");
    sem->valid = true;
    if (count != 0) {
        sys_sem_signal(sem);
    }
    return ERR_OK;
}

void sys_sem_signal(sys_sem_t *sem)
{
    rtems_binary_semaphore_post(&sem->object);
}

u32_t sys_arch_sem_wait(sys_sem_t *sem, u32_t timeout)
{
    return rtems_binary_semaphore_wait_timed_ticks(&sem->object, ticks_of(timeout)) == 0
               ? 0
               : SYS_ARCH_TIMEOUT;
}

void sys_sem_free(sys_sem_t *sem)
{
    rtems_binary_semaphore_destroy(&sem->object);
}

err_t sys_mbox_new(sys_mbox_t *mbox, int size)
{
    *mbox =
        (sys_mbox_t){.messages = calloc((size_t)size, sizeof(void *)), .capacity = (unsigned)size};
    rtems_counting_semaphore_init(&mbox->filled, "lwIP", 0);
    return sys_mbox_valid(mbox) ? ERR_OK : ERR_MEM;
}

err_t sys_mbox_trypost(sys_mbox_t *mbox, void *msg)
{
    bool room;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    room = mbox->count < mbox->capacity;
    if (room) {
        mbox->messages[(mbox->first + mbox->count++) % mbox->capacity] = msg;
    }
    SYS_ARCH_UNPROTECT(level);
    if (!room) {
        return ERR_MEM;
    }
    rtems_counting_semaphore_post(&mbox->filled);
    return ERR_OK;
}

/* Retries each tick while the mailbox is full; lwIP's thread empties it. */
void sys_mbox_post(sys_mbox_t *mbox, void *msg)
{
    while (sys_mbox_trypost(mbox, msg) != ERR_OK) {
        (void)rtems_task_wake_after(1);
    }
}

static void take(sys_mbox_t *mbox, void **message)
{
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    if (message != NULL) {
        *message = mbox->messages[mbox->first];
    }
    mbox->first = (mbox->first + 1) % mbox->capacity;
    mbox->count--;
    SYS_ARCH_UNPROTECT(level);
}

u32_t sys_arch_mbox_fetch(sys_mbox_t *mbox, void **msg, u32_t timeout)
{
    if (rtems_counting_semaphore_wait_timed_ticks(&mbox->filled, ticks_of(timeout)) != 0) {
        return SYS_ARCH_TIMEOUT;
    }
    take(mbox, msg);
    return 0;
}

u32_t sys_arch_mbox_tryfetch(sys_mbox_t *mbox, void **msg)
{
    if (rtems_counting_semaphore_try_wait(&mbox->filled) != 0) {
        return SYS_MBOX_EMPTY;
    }
    take(mbox, msg);
    return 0;
}

void sys_mbox_free(sys_mbox_t *mbox)
{
    rtems_counting_semaphore_destroy(&mbox->filled);
    free(mbox->messages);
}

/* Function and argument of a new task, which frees the structure. */
struct entry {
    lwip_thread_fn function;
    void *argument;
};

static rtems_task run(rtems_task_argument argument)
{
    struct entry entry = *(struct entry *)argument;

    free((void *)argument);
    entry.function(entry.argument);
    rtems_task_exit();
}

sys_thread_t sys_thread_new(const char *name, lwip_thread_fn thread, void *arg, int stacksize,
                            int prio)
{
    struct entry *entry = malloc(sizeof(*entry));
    rtems_id id;

    if (entry == NULL ||
        rtems_task_create(rtems_build_name('l', 'w', 'I', 'P'), (rtems_task_priority)prio,
                          (size_t)stacksize + RTEMS_MINIMUM_STACK_SIZE, RTEMS_DEFAULT_MODES,
                          RTEMS_FLOATING_POINT, &id) != RTEMS_SUCCESSFUL) {
        printk("lwIP: no task for %s: increase CONFIGURE_MAXIMUM_TASKS\n", name);
        free(entry);
        return 0;
    }
    *entry = (struct entry){.function = thread, .argument = arg};
    (void)rtems_object_set_name(id, name);
    (void)rtems_task_start(id, run, (rtems_task_argument)entry);
    return id;
}

void *network_memory_allocate(size_t bytes)
{
    return malloc(bytes);
}

void network_memory_free(void *memory)
{
    free(memory);
}

void network_yield(void)
{
    (void)rtems_task_wake_after(RTEMS_YIELD_PROCESSOR);
}

void network_bottom_half_begins(void)
{
}

void network_step_begins(void)
{
}

/* The task wakes at a tick of the clock: a period of the polled driver below one is a tick. */
void network_sleep_until(uint64_t nanoseconds)
{
    uint64_t tick = rtems_configuration_get_nanoseconds_per_tick();
    uint64_t now = virtio_platform_now();

    if (nanoseconds > now) {
        (void)rtems_task_wake_after((rtems_interval)((nanoseconds - now + tick - 1) / tick));
    }
}

/* A task wakes at a tick of the clock, which is a millisecond or more. */
enum network_nap_end network_nap(sys_sem_t *semaphore, uint64_t nanoseconds)
{
    (void)semaphore;
    (void)nanoseconds;
    return NETWORK_NAP_IMPOSSIBLE;
}

void network_wait(sys_sem_t *semaphore)
{
    (void)sys_arch_sem_wait(semaphore, 0);
}

/* RTEMS has no function that returns whether another task is ready. */
bool network_is_alone(void)
{
    return false;
}
