/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics of threads that end while they are described. */
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

/* At each place where it can be interrupted another thread runs and frees one that is listed. How
 * long the pieces are is for vm/test_realtime.py, which counts instructions. */
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
    (void)semaphore_post(&wake); /* if the interrupt came after all of that */
    finish(killer);
}

static void test_a_thread_is_freed_while_it_is_described(void **state)
{
    (void)state;
    kernel_sweep(init_statistics_interrupted, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_is_freed_while_it_is_described),
    };

    return cmocka_run_group_tests_name("thread_statistics", tests, NULL, NULL);
}
