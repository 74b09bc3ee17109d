/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that the distribution of interrupts is a stable control loop, with a model of what it
 * controls.
 *
 * A partition has a VCPU on each of some cores, and one source. More urgent VCPUs use a part of
 * each core, and on some cores they have a periodic source, with which the source collides. The
 * source's work needs a share of the core where it is. It gets what is left there, and comes as
 * often as it gets it: a network's peer sends no more than is received. After each move, it is
 * slow for a while, or does not come at all.
 *
 * The loop is stable if, after a change of the load, it moves the source twice at most, and to no
 * place where it has been since the change. All numbers are percent, and times are windows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "distributor/distribution.h"

#define CORES_MAX  4u
#define NUMBER     37u /* INTID */
#define PART       100u
#define SECOND     10u /* windows */
#define SYSTEMS    300u
#define PHASES     4u
#define PHASE      (120u * SECOND)
#define NOISE      3u
#define SEEN       97u /* how often the collision of two sources is seen */
#define MOST_MOVES 2u

/* The load of all cores. It stays the same until the test changes it. */
struct load {
    unsigned urgent[CORES_MAX]; /* used by more urgent VCPUs */
    bool contended[CORES_MAX];  /* they have a periodic source */
    unsigned demand;            /* of a core, for the source's work */
    unsigned often;             /* the source comes in one part of so many, if nothing hinders it */
    unsigned times;             /* so many times in such a part */
    unsigned slow_for, slow;    /* after a move: for so long, and so much of its rate */
};

struct model {
    unsigned cores;
    struct load load;
    uint32_t now, slow_until;
    uint32_t random;
    struct distribution distribution;
    struct distribution_log log;
    struct profile profiles[CORES_MAX];
};

static struct model model;
static struct distribution_source *const source = &model.distribution.sources[0];

/* Returns a number below `limit`. Xorshift (Marsaglia 2003). */
static unsigned random_below(unsigned limit)
{
    model.random ^= model.random << 13;
    model.random ^= model.random >> 17;
    model.random ^= model.random << 5;
    return model.random % limit;
}

static bool happens(unsigned percent)
{
    return random_below(100) < percent;
}

static unsigned smaller(unsigned one, unsigned other)
{
    return one < other ? one : other;
}

/* Returns how much of its rate the source has at its target. */
static unsigned rate(void)
{
    const struct load *load = &model.load;
    unsigned core = source->target, left = 100 - load->urgent[core];
    unsigned got = smaller(load->demand, left) * 100 / load->demand;

    if (load->contended[core]) {
        got = got * left / 100;
    }
    return model.now < model.slow_until ? got * load->slow / 100 : got;
}

/* Lets the source come in a window. */
static void come(void)
{
    struct profile *profile = &model.profiles[source->target];
    unsigned got = rate();

    for (unsigned part = 0; part < PROFILE_PARTS; part++) {
        bool comes = (model.now * PROFILE_PARTS + part) % model.load.often == 0 && happens(got);

        for (unsigned i = 0; comes && i < model.load.times; i++) {
            profile_count(profile, NUMBER);
        }
        for (unsigned core = 0; core < model.cores; core++) {
            distribution_close_part(&model.distribution, &model.profiles[core], 1);
        }
    }
}

static unsigned measured(unsigned percent)
{
    return smaller(100, percent + random_below(2 * NOISE) - smaller(percent, NOISE));
}

/* Closes the window of a core. Returns true if the source was moved. */
static bool close_core(unsigned core)
{
    const struct load *load = &model.load;
    unsigned used = core == source->target ? load->demand * rate() / 100 : 0;
    struct distribution_window window = {.now = (uint64_t)model.now * PROFILE_PARTS * PART,
                                         .part = PART,
                                         .parts = PROFILE_PARTS,
                                         .time = model.now,
                                         .vcpu = core,
                                         .neighbours = UINT32_C(1) << core,
                                         .urgent = (uint8_t)measured(load->urgent[core]),
                                         .used = (uint8_t)measured(used),
                                         .is_contended = load->contended[core] && happens(SEEN),
                                         .may_offer = true,
                                         .is_open = true,
                                         .has_budget = true};

    window.idle = (uint8_t)(100 - smaller(100, window.urgent + window.used));
    distribution_close_window(&model.distribution, &model.profiles[core], &window, &model.log);
    if (window.routed == 0) {
        return false;
    }
    model.slow_until = model.now + load->slow_for;
    return true;
}

/* Lets a window pass on all cores. Returns the number of moves. */
static unsigned pass_window(void)
{
    unsigned first = random_below(model.cores), moves = 0;

    come();
    for (unsigned i = 0; i < model.cores; i++) {
        moves += close_core((first + i) % model.cores) ? 1 : 0;
    }
    model.now++;
    return moves;
}

/* Changes the load. Half of the sources are periodic if nothing hinders them. */
static void change_load(void)
{
    struct load *load = &model.load;

    for (unsigned core = 0; core < model.cores; core++) {
        load->urgent[core] = random_below(96);
        load->contended[core] = happens(50);
    }
    load->demand = 2 + random_below(95);
    load->often = happens(50) ? 1 : 1 + random_below(30);
    load->times = 1 + random_below(8);
    load->slow_for = random_below(8 * SECOND);
    load->slow = happens(50) ? 0 : random_below(30);
}

static void start(uint32_t seed, unsigned cores)
{
    model = (struct model){.cores = cores, .random = seed, .now = 1000};
    (void)distribution_find(&model.distribution, NUMBER);
    distribution_set_home(source, random_below(cores), model.now);
}

/* Lets a phase with one load pass. An offer that was made before the change may still be taken. */
static void check_phase(uint32_t seed, unsigned phase)
{
    uint32_t visited;
    unsigned moves = 0;

    for (unsigned i = 0; i <= DISTRIBUTION_LEASE; i++) {
        (void)pass_window();
    }
    visited = UINT32_C(1) << source->target;
    for (unsigned i = 0; i < PHASE; i++) {
        unsigned moved = pass_window();

        moves += moved;
        if (moved != 0 && ((visited >> source->target & 1) != 0 || moves > MOST_MOVES)) {
            fail_msg("seed %u, phase %u, window %u: move %u to core %u, home is %u", (unsigned)seed,
                     phase, i, moves, source->target, source->home);
        }
        visited |= UINT32_C(1) << source->target;
    }
}

static void test_random_loads(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SYSTEMS; seed++) {
        start(seed, 2 + seed % (CORES_MAX - 1));
        for (unsigned phase = 0; phase < PHASES; phase++) {
            change_load();
            check_phase(seed, phase);
        }
    }
}

/* A network beside a media player, which uses most of the home core and a quarter of the others.
 * After a move, nothing comes for `silence`: the peer waits for a time that doubles. */
static void start_network(unsigned silence)
{
    start(1, CORES_MAX);
    distribution_set_home(source, 0, model.now);
    model.load = (struct load){.urgent = {90, 25, 25, 25},
                               .contended = {true},
                               .demand = 60,
                               .often = 1,
                               .times = 2,
                               .slow_for = silence};
}

/* Returns the number of moves in some seconds. */
static unsigned moves_in(unsigned seconds)
{
    unsigned moves = 0;

    for (unsigned i = 0; i < seconds * SECOND; i++) {
        moves += pass_window();
    }
    return moves;
}

static void test_a_network_that_is_silent_after_a_move(void **state)
{
    (void)state;
    for (unsigned silence = 0; silence <= 9 * SECOND; silence += 5) {
        start_network(silence);
        assert_int_equal(moves_in(5), 1);
        assert_int_not_equal(source->target, 0);
        assert_int_equal(moves_in(115), 0);
    }
}

/* It is misjudged, but the durations double. */
static void test_a_network_that_is_silent_for_longer(void **state)
{
    unsigned moves;

    (void)state;
    start_network(25 * SECOND);
    moves = moves_in(120);
    assert_in_range(moves, 1, 5);
    assert_int_equal(moves_in(600), 0);
    assert_int_not_equal(source->target, 0);
}

/* It sends too little at home to be periodic there after its first move. */
static void test_a_network_that_suffers_at_home_is_taken(void **state)
{
    (void)state;
    start_network(3 * SECOND);
    (void)moves_in(1);
    model.slow_until = model.now + 5 * SECOND;
    assert_int_equal(moves_in(2), 1);
}

static void test_a_network_comes_home_when_the_player_ends(void **state)
{
    (void)state;
    start_network(SECOND);
    assert_int_equal(moves_in(10), 1);
    model.load.urgent[0] = 2;
    assert_int_equal(moves_in(10), 0); /* it still collides */
    model.load.contended[0] = false;
    assert_int_equal(moves_in(1), 0);
    assert_int_equal(moves_in(2), 1);
    assert_int_equal(source->target, 0);
    assert_int_equal(moves_in(100), 0);
}

static void test_a_home_without_room_for_the_demand_gets_nothing(void **state)
{
    (void)state;
    start_network(SECOND);
    assert_int_equal(moves_in(10), 1);
    model.load.urgent[0] = 50;
    model.load.contended[0] = false;
    assert_int_equal(moves_in(100), 0);
    model.load.urgent[0] = 30;
    assert_int_equal(moves_in(4), 1);
    assert_int_equal(moves_in(100), 0);
}

/* The player plays for 5 s, and pauses for 5 s. */
static void test_returns_that_are_followed_by_a_collision_back_off(void **state)
{
    unsigned moves = 0, later = 0;

    (void)state;
    start_network(0);
    for (unsigned i = 0; i < 24; i++) {
        model.load.contended[0] = i % 2 == 0;
        model.load.urgent[0] = i % 2 == 0 ? 90 : 2;
        *(i < 12 ? &moves : &later) += moves_in(5);
    }
    assert_in_range(moves, 3, 5);
    assert_int_equal(later, 0);
    assert_int_not_equal(source->target, 0);
}

static void test_a_crowded_taker_loses_its_source_to_a_core_with_room(void **state)
{
    unsigned first;

    (void)state;
    start_network(SECOND);
    assert_int_equal(moves_in(10), 1);
    first = source->target;
    model.load.urgent[first] = 90;
    model.load.contended[first] = true;
    assert_int_equal(moves_in(1), 0);
    assert_int_equal(moves_in(3), 1);
    assert_int_not_equal(source->target, 0);
    assert_int_not_equal(source->target, first);
    assert_int_equal(moves_in(100), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_loads),
        cmocka_unit_test(test_a_network_that_is_silent_after_a_move),
        cmocka_unit_test(test_a_network_that_is_silent_for_longer),
        cmocka_unit_test(test_a_network_that_suffers_at_home_is_taken),
        cmocka_unit_test(test_a_network_comes_home_when_the_player_ends),
        cmocka_unit_test(test_a_home_without_room_for_the_demand_gets_nothing),
        cmocka_unit_test(test_returns_that_are_followed_by_a_collision_back_off),
        cmocka_unit_test(test_a_crowded_taker_loses_its_source_to_a_core_with_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
