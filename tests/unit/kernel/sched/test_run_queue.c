/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the queue of runnable threads with a simple model, which keeps for each thread and each
 * group a number by which it stands in line, and searches all of them. */
#include "sched/run_queue.h"

#include "kernel_fixture.h"
#include "sched/thread_private.h"

#define THREADS 40u
#define GROUPS  5u
#define STEPS   200000u

static struct run_queue queue;
static struct thread threads[THREADS];
static struct run_queue_group groups[GROUPS];

/* Smaller numbers are in front. */
static struct {
    bool queued;
    struct run_queue_group *group; /* NULL: none */
    int64_t in_group;
    int64_t in_background;
} places[THREADS];

static int64_t group_places[GROUPS];
static int64_t last;  /* the greatest number so far */
static int64_t first; /* the smallest */
static uint64_t seed;

static unsigned chance(unsigned limit)
{
    return (unsigned)random_below(&seed, limit);
}

static unsigned priority_of(size_t i)
{
    return urgency_priority(threads[i].standing.urgency);
}

/* Returns true if thread `i` belongs before thread `other` in lists ordered by these numbers. */
static bool is_before(size_t i, size_t other, int64_t number, int64_t others)
{
    return priority_of(i) > priority_of(other) ||
           (priority_of(i) == priority_of(other) && number < others);
}

static struct thread *first_of_background(void)
{
    size_t best = THREADS;

    for (size_t i = 0; i < THREADS; i++) {
        if (places[i].queued && (best == THREADS || is_before(i, best, places[i].in_background,
                                                              places[best].in_background))) {
            best = i;
        }
    }
    return best == THREADS ? NULL : &threads[best];
}

static struct thread *first_of_group(const struct run_queue_group *group)
{
    size_t best = THREADS;

    for (size_t i = 0; i < THREADS; i++) {
        if (places[i].queued && places[i].group == group &&
            (best == THREADS || is_before(i, best, places[i].in_group, places[best].in_group))) {
            best = i;
        }
    }
    return best == THREADS ? NULL : &threads[best];
}

static unsigned urgency_of_group(size_t i)
{
    return urgency_make(groups[i].level,
                        priority_of((size_t)(first_of_group(&groups[i]) - threads)));
}

static bool precedes(size_t i, size_t other)
{
    return urgency_of_group(i) > urgency_of_group(other) ||
           (urgency_of_group(i) == urgency_of_group(other) &&
            group_places[i] < group_places[other]);
}

static struct thread *expected(void)
{
    size_t best = GROUPS;

    for (size_t i = 0; i < GROUPS; i++) {
        if (groups[i].level != URGENCY_BACKGROUND && first_of_group(&groups[i]) != NULL &&
            (best == GROUPS || precedes(i, best))) {
            best = i;
        }
    }
    return best == GROUPS ? first_of_background() : first_of_group(&groups[best]);
}

/* A group goes behind its equals when another thread becomes its first. */
static void note_group(const struct run_queue_group *group, const struct thread *first_before)
{
    if (group != NULL && first_of_group(group) != first_before) {
        group_places[group - groups] = ++last;
    }
}

static void set_places(size_t i, struct run_queue_group *group, int64_t number)
{
    places[i].queued = true;
    places[i].group = group;
    places[i].in_group = number;
    places[i].in_background = number;
}

/* Returns a group, or none, and an urgency of few priorities, so that equal ones are frequent. */
static struct run_queue_group *random_group(unsigned *urgency)
{
    unsigned number = chance(GROUPS + 2);
    unsigned priority = chance(2) == 0 ? chance(THREAD_PRIORITY_COUNT) : chance(3) * 31;
    struct run_queue_group *group = number < GROUPS ? &groups[number] : NULL;

    *urgency = urgency_make(group == NULL ? URGENCY_BACKGROUND : group->level, priority);
    return group;
}

static void add(size_t i)
{
    unsigned urgency;
    struct run_queue_group *group = random_group(&urgency);

    const struct thread *first_before = first_of_group(group);

    threads[i].standing.urgency = urgency;
    run_queue_add(&queue, group, &threads[i]);
    set_places(i, group, ++last);
    note_group(group, first_before);
}

static void take_away(size_t i)
{
    const struct thread *first_before = first_of_group(places[i].group);

    run_queue_remove(&queue, places[i].group, &threads[i]);
    places[i].queued = false;
    note_group(places[i].group, first_before);
}

static void yield(size_t i)
{
    run_queue_yield(&queue, places[i].group, &threads[i]);
    places[i].in_group = ++last;
    if (places[i].group == NULL || places[i].group->level == URGENCY_BACKGROUND) {
        places[i].in_background = last;
    }
}

static void move(size_t i)
{
    unsigned urgency;
    struct run_queue_group *from = places[i].group;
    struct run_queue_group *to = random_group(&urgency);
    bool raised = urgency > threads[i].standing.urgency;

    const struct thread *first_before = first_of_group(from);

    places[i].queued = false;
    note_group(from, first_before);
    first_before = first_of_group(to);
    run_queue_move(&queue, &threads[i], from, to, urgency);
    assert_int_equal(threads[i].standing.urgency, urgency);
    set_places(i, to, raised ? ++last : --first);
    note_group(to, first_before);
}

static void change_level(void)
{
    static const unsigned levels[] = {URGENCY_BACKGROUND, 1, 2, URGENCY_LEVELS - 1};
    unsigned number = chance(GROUPS);
    unsigned level = levels[chance(4)];

    if (level != groups[number].level) {
        group_places[number] = ++last;
    }
    run_queue_set_level(&queue, &groups[number], level);
    assert_int_equal(groups[number].level, level);
    for (size_t i = 0; i < THREADS; i++) {
        if (places[i].queued && places[i].group == &groups[number]) {
            threads[i].standing.urgency = urgency_make(level, priority_of(i));
        }
    }
}

static void step(void)
{
    size_t i = chance(THREADS);
    unsigned operation = chance(5);

    if (operation == 4) {
        change_level();
    } else if (!places[i].queued) {
        add(i);
    } else if (operation == 0) {
        take_away(i);
    } else if (operation == 1) {
        yield(i);
    } else {
        move(i);
    }
}

static size_t count(void)
{
    size_t sum = 0;

    for (size_t i = 0; i < THREADS; i++) {
        sum += places[i].queued ? 1 : 0;
    }
    return sum;
}

static void test_against_model(void **state)
{
    (void)state;
    seed = 1;
    run_queue_init(&queue);
    for (size_t i = 0; i < GROUPS; i++) {
        run_queue_group_init(&groups[i]);
    }
    assert_null(run_queue_pick(&queue));
    for (unsigned i = 0; i < STEPS; i++) {
        step();
        assert_ptr_equal(run_queue_pick(&queue), expected());
        assert_int_equal(run_queue_count(&queue), count());
    }
    while (count() > 0) { /* compares the order of all threads, not only the first */
        assert_ptr_equal(run_queue_pick(&queue), expected());
        take_away((size_t)(run_queue_pick(&queue) - threads));
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
