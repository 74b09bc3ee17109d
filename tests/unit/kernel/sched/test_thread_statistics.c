/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests statistics of threads that end while thread_statistics() describes them. */
#include "kernel/sync.h"
#include "kernel_fixture.h"
#include <string.h>

static const struct thread_statistics *find(const struct thread_statistics *all, size_t count,
                                            const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

static struct semaphore end_of_victim;
static struct thread *victim;

static void wait_for_end(void *argument)
{
    (void)argument;
    (void)semaphore_wait(&end_of_victim, DEADLINE_NONE);
}

static void free_victim(void *argument)
{
    (void)semaphore_wait(argument, DEADLINE_NONE);
    (void)semaphore_post(&end_of_victim);
    CHECK_EQUAL(thread_join(victim, DEADLINE_NONE), RESULT_OK);
}

static void post(void *semaphore)
{
    (void)semaphore_post(semaphore);
}

/* At each point where thread_statistics() can be interrupted, another thread runs and frees a
 * listed thread. vm/test_realtime.py checks how long interrupts stay masked, by counting
 * instructions. */
static void init_statistics_interrupted(void)
{
    static struct semaphore wake;
    struct thread_statistics all[5];
    struct thread *killer;
    size_t count;

    semaphore_init(&end_of_victim, 0, 1);
    semaphore_init(&wake, 0, 1);
    victim = start("victim", INIT_PRIORITY + 1, wait_for_end, NULL);
    killer = start("killer", INIT_PRIORITY + 2, free_victim, &wake);
    sweep_interrupt(post, &wake);
    memset(all, 0, sizeof(all));
    count = thread_statistics(all, 5);
    CHECK(count == 4 || count == 3 || count == 2); /* init and idle; the killer; the victim */
    for (size_t i = 0; i < count; i++) {
        CHECK(all[i].stack_bytes == 0 || all[i].stack_used_bytes <= all[i].stack_bytes);
        CHECK(find(all, i, all[i].name) == NULL);
    }
    CHECK(find(all, count, "init") != NULL);
    CHECK(find(all, count, "idle") != NULL);
    (void)semaphore_post(&wake); /* if the interrupt came after all of this */
    finish(killer);
}

static void test_thread_is_freed_during_statistics(void **state)
{
    (void)state;
    kernel_sweep(init_statistics_interrupted, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_is_freed_during_statistics),
    };

    return cmocka_run_group_tests_name("thread_statistics", tests, NULL, NULL);
}
