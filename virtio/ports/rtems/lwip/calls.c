/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of our own kernel that lwIP's port and what it shares with it (kernel/net) are written
 * in, by RTEMS's. The contract of each is in kernel/include/kernel/, or in calls/ where RTEMS's
 * objects differ.
 */
#include "../lock.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <rtems.h>
#include <rtems/bspIo.h>
#include <rtems/malloc.h>
#include <stdlib.h>
#include <string.h>

/* Priority 48, of our bottom half, is RTEMS's 100, where its own network stacks have theirs; a
 * smaller number is more urgent there. */
#define TASK_PRIORITY(priority) (148u - (priority))

interrupt_state interrupts_save(void)
{
    return virtio_rtems_lock();
}

void interrupts_restore(interrupt_state state)
{
    virtio_rtems_unlock(state);
}

void *page_allocate(size_t count, size_t alignment)
{
    return rtems_heap_allocate_aligned_with_boundary(count * PAGE_BYTES, alignment, 0);
}

void *heap_allocate(size_t bytes)
{
    return malloc(bytes);
}

void heap_free(void *memory)
{
    free(memory);
}

void print_arguments(const char *format, va_list arguments)
{
    vprintk(format, arguments);
}

void print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_arguments(format, arguments);
    va_end(arguments);
}

void panic(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_arguments(format, arguments);
    va_end(arguments);
    rtems_fatal(RTEMS_FATAL_SOURCE_APPLICATION, 0);
}

uint64_t time_now(void)
{
    return rtems_clock_get_uptime_nanoseconds();
}

uint64_t time_after(uint64_t nanoseconds)
{
    return time_now() + nanoseconds;
}

/* Until then, 1 at least. */
static rtems_interval time_ticks(uint64_t deadline)
{
    uint64_t now = time_now();
    uint64_t tick = rtems_configuration_get_nanoseconds_per_tick();
    uint64_t ticks = deadline <= now ? 1 : (deadline - now + tick - 1) / tick;

    return ticks > UINT32_MAX ? UINT32_MAX : (rtems_interval)ticks;
}

static rtems_timer_service_routine expire(rtems_id id, void *argument)
{
    struct timer *timer = argument;

    (void)id;
    timer->callback(timer, timer->argument);
}

void timer_init(struct timer *timer, void (*callback)(struct timer *, void *), void *argument)
{
    *timer = (struct timer){.callback = callback, .argument = argument};
    if (rtems_timer_create(rtems_build_name('V', 'N', 'E', 'T'), &timer->id) != RTEMS_SUCCESSFUL) {
        print("net: the device is not watched: CONFIGURE_MAXIMUM_TIMERS has to be 1 more\n");
        timer->id = 0;
    }
}

void timer_arm(struct timer *timer, uint64_t deadline)
{
    if (timer->id != 0) {
        (void)rtems_timer_fire_after(timer->id, time_ticks(deadline), expire, timer);
    }
}

/* As many characters of the name as RTEMS takes; object_set_name() shows more of it. */
static rtems_name short_name(const char *name)
{
    char four[4] = {' ', ' ', ' ', ' '};

    for (size_t i = 0; i < sizeof(four) && name[i] != '\0'; i++) {
        four[i] = name[i];
    }
    return rtems_build_name(four[0], four[1], four[2], four[3]);
}

/* What a thread starts with; freed by it. */
struct entry {
    void (*function)(void *argument);
    void *argument;
};

static rtems_task run(rtems_task_argument argument)
{
    struct entry *given = (struct entry *)argument;
    struct entry entry = *given;

    free(given);
    entry.function(entry.argument);
    rtems_task_exit();
}

enum result thread_create(struct thread **thread, const struct thread_attributes *attributes,
                          void (*entry)(void *argument), void *argument)
{
    struct entry *given = malloc(sizeof(*given));
    const char *name = attributes->name;
    rtems_id id;

    if (given == NULL) {
        return RESULT_NO_MEMORY;
    }
    *given = (struct entry){.function = entry, .argument = argument};
    if (rtems_task_create(short_name(name), TASK_PRIORITY(attributes->priority),
                          attributes->stack_bytes + RTEMS_MINIMUM_STACK_SIZE, RTEMS_DEFAULT_MODES,
                          RTEMS_FLOATING_POINT, &id) != RTEMS_SUCCESSFUL) {
        print("net: no task for %s: CONFIGURE_MAXIMUM_TASKS has to be more\n", name);
        free(given);
        return RESULT_NO_MEMORY;
    }
    (void)rtems_object_set_name(id, name);
    *thread = (struct thread *)(uintptr_t)id;
    (void)rtems_task_start(id, run, (rtems_task_argument)given);
    return RESULT_OK;
}

void thread_yield(void)
{
    (void)rtems_task_wake_after(RTEMS_YIELD_PROCESSOR);
}

/* RTEMS does not tell whether somebody else wants to run. */
bool thread_is_alone(void)
{
    return false;
}

void thread_sleep_until(uint64_t deadline)
{
    (void)rtems_task_wake_after(time_ticks(deadline));
}

void mutex_init(struct mutex *mutex)
{
    rtems_mutex_init(&mutex->object, "net");
}

enum result mutex_lock(struct mutex *mutex, uint64_t deadline)
{
    (void)deadline;
    rtems_mutex_lock(&mutex->object);
    return RESULT_OK;
}

enum result mutex_unlock(struct mutex *mutex)
{
    rtems_mutex_unlock(&mutex->object);
    return RESULT_OK;
}

void semaphore_init(struct semaphore *semaphore, uint32_t count, uint32_t limit)
{
    rtems_binary_semaphore_init(&semaphore->object, "net");
    semaphore->limit = limit;
    if (count != 0) {
        rtems_binary_semaphore_post(&semaphore->object);
    }
}

enum result semaphore_post(struct semaphore *semaphore)
{
    rtems_binary_semaphore_post(&semaphore->object);
    return RESULT_OK;
}

enum result semaphore_wait(struct semaphore *semaphore, uint64_t deadline)
{
    int error = 0;

    if (deadline == DEADLINE_NONE) {
        rtems_binary_semaphore_wait(&semaphore->object);
    } else if (deadline == DEADLINE_POLL) {
        error = rtems_binary_semaphore_try_wait(&semaphore->object);
    } else {
        error = rtems_binary_semaphore_wait_timed_ticks(&semaphore->object, time_ticks(deadline));
    }
    return error == 0 ? RESULT_OK : RESULT_TIMED_OUT;
}

void message_queue_init(struct message_queue *queue, void *storage, uint32_t message_bytes,
                        uint32_t capacity)
{
    memset(queue, 0, sizeof(*queue));
    queue->storage = storage;
    queue->message_bytes = message_bytes;
    queue->capacity = capacity;
    rtems_counting_semaphore_init(&queue->filled, "net", 0);
    rtems_counting_semaphore_init(&queue->empty, "net", capacity);
}

static int wait_for(rtems_counting_semaphore *semaphore, uint64_t deadline)
{
    if (deadline == DEADLINE_NONE) {
        rtems_counting_semaphore_wait(semaphore);
        return 0;
    }
    return deadline == DEADLINE_POLL
               ? rtems_counting_semaphore_try_wait(semaphore)
               : rtems_counting_semaphore_wait_timed_ticks(semaphore, time_ticks(deadline));
}

enum result message_queue_send(struct message_queue *queue, const void *message, uint64_t deadline)
{
    interrupt_state state;

    if (wait_for(&queue->empty, deadline) != 0) {
        return RESULT_TIMED_OUT;
    }
    state = interrupts_save();
    memcpy(queue->storage +
               (size_t)((queue->head + queue->count) % queue->capacity) * queue->message_bytes,
           message, queue->message_bytes);
    queue->count++;
    interrupts_restore(state);
    rtems_counting_semaphore_post(&queue->filled);
    return RESULT_OK;
}

enum result message_queue_receive(struct message_queue *queue, void *message, uint64_t deadline)
{
    interrupt_state state;

    if (wait_for(&queue->filled, deadline) != 0) {
        return RESULT_TIMED_OUT;
    }
    state = interrupts_save();
    memcpy(message, queue->storage + (size_t)queue->head * queue->message_bytes,
           queue->message_bytes);
    queue->head = (queue->head + 1) % queue->capacity;
    queue->count--;
    interrupts_restore(state);
    rtems_counting_semaphore_post(&queue->empty);
    return RESULT_OK;
}
