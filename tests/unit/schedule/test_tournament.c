/* SPDX-License-Identifier: BSD-2-Clause */
/* The tournament tree beside a plain search. */
#include "schedule/tournament.h"
#include "schedule_test.h"

#define STEPS 20000u

static struct tournament tournament;
static uint64_t model[TOURNAMENT_PLACES];

static void begin(void)
{
    tournament_init(&tournament);
    for (unsigned i = 0; i < TOURNAMENT_PLACES; i++) {
        model[i] = UINT64_MAX;
    }
}

static void set(unsigned place, uint64_t time)
{
    tournament_set(&tournament, place, time);
    model[place] = time;
}

static unsigned winner_of_model(void)
{
    unsigned winner = 0;

    for (unsigned i = 1; i < TOURNAMENT_PLACES; i++) {
        winner = model[i] < model[winner] ? i : winner;
    }
    return winner;
}

static void check(void)
{
    assert_int_equal(tournament_winner(&tournament), winner_of_model());
    assert_true(tournament_earliest(&tournament) == model[winner_of_model()]);
    for (unsigned i = 0; i < TOURNAMENT_PLACES; i++) {
        assert_true(tournament_at(&tournament, i) == model[i]);
    }
}

static void nothing_is_earlier_than_never(void **state)
{
    (void)state;
    begin();
    check();
    assert_true(tournament_earliest(&tournament) == UINT64_MAX);
}

static void each_place_can_win(void **state)
{
    (void)state;
    for (unsigned place = 0; place < TOURNAMENT_PLACES; place++) {
        begin();
        for (unsigned other = 0; other < TOURNAMENT_PLACES; other++) {
            set(other, other == place ? 1 : 2);
        }
        check();
        set(place, UINT64_MAX);
        check();
    }
}

static void random_times(void **state)
{
    uint64_t random = 1;

    (void)state;
    begin();
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned place = (unsigned)random_below(&random, TOURNAMENT_PLACES);

        set(place, random_below(&random, 4) == 0 ? UINT64_MAX : random_below(&random, 100));
        check();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_earlier_than_never),
        cmocka_unit_test(each_place_can_win),
        cmocka_unit_test(random_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
