/* SPDX-License-Identifier: BSD-2-Clause */
#include "orders.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PLACES_MAX 64u

/* The arguments of orders_test(). */
struct suite {
    const struct order_program *programs;
    unsigned count;
    unsigned orders;
};

struct known_place {
    struct order_place place;
    unsigned programs; /* bit mask of the programs that use it */
};

static struct known_place places[PLACES_MAX];
static unsigned place_count;
static unsigned weakened = PLACES_MAX;
static const struct order_program *current;
static unsigned current_number;
static bool prepares;

static bool is_same(const struct order_place *a, const struct order_place *b)
{
    return a->order == b->order && a->line == b->line && strcmp(a->function, b->function) == 0 &&
           strcmp(a->word, b->word) == 0;
}

/* Returns false if the order is weakened. */
static bool holds(const struct order_place *place)
{
    unsigned i = 0;

    if (prepares) {
        return true;
    }
    while (i < place_count && !is_same(&places[i].place, place)) {
        i++;
    }
    if (i == place_count) {
        MODEL_CHECK(place_count < PLACES_MAX);
        places[place_count++] = (struct known_place){.place = *place};
    }
    places[i].programs |= 1u << current_number;
    return i != weakened;
}

uint64_t order_load(const void *word, unsigned bytes, const struct order_place *place)
{
    return holds(place) ? model_load_acquire(word, bytes) : model_load(word, bytes);
}

void order_store(void *word, unsigned bytes, uint64_t value, const struct order_place *place)
{
    if (holds(place)) {
        model_store_release(word, bytes, value);
    } else {
        model_store(word, bytes, value);
    }
}

uint64_t order_update(void *word, unsigned bytes, uint64_t keep, uint64_t set, uint64_t add,
                      const struct order_place *acquires, const struct order_place *releases)
{
    bool has_acquire = acquires != NULL && holds(acquires);
    bool has_release = releases != NULL && holds(releases);

    return model_update_ordered(word, bytes, keep, set, add, has_acquire, has_release);
}

void order_fence(const struct order_place *place)
{
    bool all = holds(place);

    switch (place->order) {
    case ORDER_FENCE_FULL:
        if (all) {
            model_full();
        } else {
            model_acquire();
            model_release();
        }
        break;
    case ORDER_FENCE_ACQUIRE:
        if (all) {
            model_acquire();
        }
        break;
    default:
        if (all) {
            model_release();
        }
    }
}

static void prepare(void)
{
    prepares = true;
    current->program.prepare();
    prepares = false;
}

static struct model_result explore(const struct order_program *programs, unsigned number)
{
    struct model_program program = programs[number].program;

    current = &programs[number];
    current_number = number;
    program.prepare = prepare;
    return model_explore(&program, current->executions_max);
}

static void programs_hold(void **state)
{
    const struct suite *suite = *state;
    const struct order_program *programs = suite->programs;

    weakened = PLACES_MAX;
    for (unsigned i = 0; i < suite->count; i++) {
        struct model_result result = explore(programs, i);

        print_message("%s: %llu executions\n", programs[i].program.name,
                      (unsigned long long)result.executions);
        if (result.error != NULL) {
            fail_msg("%s: %s", programs[i].program.name, result.error);
        }
    }
}

/* Returns true if one of the programs that use the weakened order fails. */
static bool is_needed(const struct order_program *programs, unsigned count)
{
    static const char *const name[] = {"acquire", "release", "acquire fence", "release fence",
                                       "full fence"};
    const struct known_place *known = &places[weakened];
    const struct order_place *place = &known->place;
    struct model_result result = {0};
    unsigned i = 0;

    while (i < count && result.error == NULL) {
        if ((known->programs >> i & 1) != 0) {
            result = explore(programs, i);
            if (result.executions > programs[i].executions_max) {
                fail_msg("%s: too many executions", programs[i].program.name);
            }
        }
        i++;
    }
    print_message("%s(), line %u, %s of %s: ", place->function, place->line, name[place->order],
                  place->word);
    if (result.error == NULL) {
        print_message("NOT NEEDED\n");
        return false;
    }
    print_message("%s: %s\n", programs[i - 1].program.name, result.error);
    return true;
}

static void every_order_matters(void **state)
{
    const struct suite *suite = *state;
    unsigned needed = 0;

    for (weakened = 0; weakened < place_count; weakened++) {
        needed += is_needed(suite->programs, suite->count);
    }
    assert_int_equal(needed, place_count);
    assert_int_equal(place_count, suite->orders);
}

int orders_test(const struct order_program *programs, unsigned count, unsigned orders)
{
    struct suite suite = {programs, count, orders};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(programs_hold, &suite),
        cmocka_unit_test_prestate(every_order_matters, &suite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
