/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the queue of runnable threads with a simple model: an array of threads in the order in
 * which they should run. */
#include "sched/run_queue.h"

#include "kernel_fixture.h"
#include "sched/thread_private.h"

#define THREADS 40u

static struct thread threads[THREADS];

/* model[0] runs first. */
static struct thread *model[THREADS];
static size_t model_count;

static size_t model_find(const struct thread *thread)
{
    size_t i = 0;

    while (i < model_count && model[i] != thread) {
        i++;
    }
    return i;
}

static void model_insert(size_t place, struct thread *thread)
{
    for (size_t i = model_count; i > place; i--) {
        model[i] = model[i - 1];
    }
    model[place] = thread;
    model_count++;
}

static void model_remove(const struct thread *thread)
{
    model_count--;
    for (size_t i = model_find(thread); i < model_count; i++) {
        model[i] = model[i + 1];
    }
}

/* Inserts a thread behind (or in front of) the threads of the same priority. */
static void model_add(struct thread *thread, bool front)
{
    size_t place = 0;

    while (place < model_count &&
           (model[place]->standing.urgency > thread->standing.urgency ||
            (!front && model[place]->standing.urgency == thread->standing.urgency))) {
        place++;
    }
    model_insert(place, thread);
}

/* Returns an urgency of few levels and priorities, so that equal ones are frequent. */
static unsigned random_urgency(uint64_t *random)
{
    static const unsigned levels[] = {URGENCY_BACKGROUND, URGENCY_BACKGROUND, 1,
                                      URGENCY_LEVELS - 1};
    unsigned level = levels[random_below(random, 4)];

    if (random_below(random, 2) == 0) {
        return urgency_make(level, (unsigned)random_below(random, THREAD_PRIORITY_COUNT));
    }
    return urgency_make(level, (unsigned)random_below(random, 3) * 31);
}

static void step(struct run_queue *queue, uint64_t *random)
{
    struct thread *thread = &threads[random_below(random, THREADS)];
    bool queued = model_find(thread) < model_count;
    unsigned urgency = random_urgency(random);
    unsigned operation = (unsigned)random_below(random, 3);

    if (!queued) {
        thread->standing.urgency = urgency;
        run_queue_add(queue, thread);
        model_add(thread, false);
    } else if (operation == 0) {
        run_queue_remove(queue, thread);
        model_remove(thread);
    } else if (operation == 1) {
        run_queue_yield(queue, thread);
        model_remove(thread);
        model_add(thread, false);
    } else {
        bool raised = urgency > thread->standing.urgency;

        model_remove(thread);
        run_queue_change_urgency(queue, thread, urgency);
        assert_int_equal(thread->standing.urgency, urgency);
        model_add(thread, !raised);
    }
}

static void test_against_model(void **state)
{
    struct run_queue queue;
    uint64_t random = 1;

    (void)state;
    run_queue_init(&queue);
    assert_null(run_queue_pick(&queue));
    for (unsigned i = 0; i < 200000; i++) {
        step(&queue, &random);
        assert_ptr_equal(run_queue_pick(&queue), model_count == 0 ? NULL : model[0]);
        assert_int_equal(run_queue_count(&queue), model_count);
    }
    while (model_count > 0) { /* compares the order of all threads, not only the first */
        assert_ptr_equal(run_queue_pick(&queue), model[0]);
        run_queue_remove(&queue, model[0]);
        model_remove(model[0]);
    }
    assert_null(run_queue_pick(&queue));
    assert_true(queue.levels == 0 && queue.priorities == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
