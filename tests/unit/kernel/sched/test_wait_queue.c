/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares wait queues with a sorted array, and checks the bound on the steps of an insertion. */
#include "sched/wait_queue.h"

#include "kernel_fixture.h"
#include "sched/thread_private.h"

#define THREADS 400u

static struct thread threads[THREADS];
static struct thread *model[THREADS];
static size_t model_count;
static struct wait_queue queue;

static void reset(void)
{
    wait_queue_init(&queue, WAIT_SEMAPHORE);
    model_count = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        list_node_init(&threads[i].queue_node);
        list_node_init(&threads[i].level_node);
    }
}

static void insert(struct thread *thread)
{
    size_t i = model_count;

    for (; i > 0 && model[i - 1]->standing.urgency < thread->standing.urgency; i--) {
        model[i] = model[i - 1];
    }
    model[i] = thread;
    model_count++;
    wait_queue_insert(&queue, thread);
}

static void remove_at(size_t index)
{
    struct thread *thread = model[index];

    model_count--;
    for (size_t i = index; i < model_count; i++) {
        model[i] = model[i + 1];
    }
    wait_queue_remove(&queue, thread);
    assert_false(list_node_is_linked(&thread->queue_node));
    assert_false(list_node_is_linked(&thread->level_node));
}

/* Checks that the waiters are in the model's order, and that the list of levels holds the first
 * waiter of each priority. */
static void check(void)
{
    const struct thread *waiter = wait_queue_first(&queue);
    const struct list_node *level = queue.levels.head.next;
    unsigned levels = 0;

    for (size_t i = 0; i < model_count; i++) {
        assert_ptr_equal(waiter, model[i]);
        if (i == 0 || model[i]->standing.urgency != model[i - 1]->standing.urgency) {
            assert_ptr_equal(level, &model[i]->level_node);
            level = level->next;
            levels++;
        } else {
            assert_false(list_node_is_linked(&model[i]->level_node));
        }
        waiter = wait_queue_next(&queue, waiter);
    }
    assert_null(waiter);
    assert_ptr_equal(level, &queue.levels.head);
    assert_true(levels <= THREAD_PRIORITY_COUNT);
}

static void test_against_model(void **state)
{
    uint64_t random = 3;

    (void)state;
    reset();
    for (unsigned step = 0; step < 20000; step++) {
        struct thread *thread = &threads[random_below(&random, THREADS)];

        if (!list_node_is_linked(&thread->queue_node)) {
            thread->standing.urgency =
                (unsigned)(THREAD_PRIORITY_LOWEST + random_below(&random, 63));
            insert(thread);
        } else {
            remove_at(random_below(&random, model_count));
        }
        if (step % 16 == 0) {
            check();
        }
    }
    while (model_count > 0) {
        remove_at(0); /* always the first of a level */
        check();
    }
    assert_null(wait_queue_first(&queue));
}

/* Among many equal waiters an insertion reads only the first and the last: the test breaks the
 * links of all others meanwhile. */
static void test_insertion_skips_equal_waiters(void **state)
{
    static struct list_node saved[THREADS];
    struct thread *last = &threads[THREADS - 1];
    unsigned per_level = (THREADS - 1) / 3;

    (void)state;
    reset();
    for (unsigned i = 0; i < 3 * per_level; i++) {
        threads[i].standing.urgency = 10 + 10 * (i / per_level);
        insert(&threads[i]);
    }
    for (unsigned i = 0; i < 3 * per_level; i++) {
        bool first = i % per_level == 0;
        bool end = i % per_level == per_level - 1;

        saved[i] = threads[i].queue_node;
        if (!first && !end) {
            threads[i].queue_node = (struct list_node){NULL, NULL};
        }
    }
    for (unsigned priority = 5; priority <= 35; priority += 5) {
        last->standing.urgency = priority;
        wait_queue_insert(&queue, last);
        wait_queue_remove(&queue, last);
    }
    for (unsigned i = 0; i < 3 * per_level; i++) {
        bool first = i % per_level == 0;
        bool end = i % per_level == per_level - 1;

        if (!first && !end) {
            threads[i].queue_node = saved[i];
        }
    }
    check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_insertion_skips_equal_waiters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
