/* SPDX-License-Identifier: BSD-2-Clause */
/* The level control (apps/level): the simulated tank, and the control law on it. */
#include "law.h"
#include "plant.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define STEP      0.01 /* seconds */
#define STEPS     100u /* in a second */
#define ACCURATE  0.002
#define OVERSHOOT 0.01 /* metres */

static void check_close(double value, double expected, double tolerance)
{
    assert_true(value >= expected - tolerance);
    assert_true(value <= expected + tolerance);
}

static void advance(struct plant *plant, double command, unsigned seconds)
{
    for (unsigned i = 0; i < seconds * STEPS; i++) {
        plant_advance(plant, command, STEP);
    }
}

static void test_tank_fills_and_empties(void **state)
{
    struct plant plant;

    (void)state;
    plant_init(&plant);
    advance(&plant, 0, 1);
    check_close(plant.level, 0, 0);
    /* At 0.5 of the greatest flow, 1.5e-4 m3/s, the outlet gives as much at 1.5e-4 / 3.5e-4 m. */
    advance(&plant, 0.5, 60);
    check_close(plant.level, 1.5 / 3.5, ACCURATE);
    advance(&plant, 2, 60);
    check_close(plant.level, PLANT_HEIGHT, 0);
    advance(&plant, -1, 100);
    check_close(plant.level, 0, ACCURATE);
}

static void test_measurements_have_bounded_noise(void **state)
{
    struct plant plant;
    double sum = 0;
    double worst = 0;

    (void)state;
    plant_init(&plant);
    for (unsigned i = 0; i < 10000; i++) {
        double error = plant_measure(&plant);

        sum += error;
        worst = error > worst ? error : worst;
        check_close(error, 0, PLANT_NOISE);
    }
    check_close(sum / 10000, 0, PLANT_NOISE / 50);
    assert_true(worst > PLANT_NOISE * 0.9);
}

static void test_same_commands_give_same_measurements(void **state)
{
    struct plant one;
    struct plant other;

    (void)state;
    plant_init(&one);
    plant_init(&other);
    for (unsigned i = 0; i < 1000; i++) {
        plant_advance(&one, 0.3, STEP);
        plant_advance(&other, 0.3, STEP);
        check_close(plant_measure(&one), plant_measure(&other), 0);
    }
}

/* Controls the tank for some seconds. Returns the highest level. */
static double control(struct plant *plant, struct law *law, double setpoint, unsigned seconds)
{
    double highest = 0;

    for (unsigned i = 0; i < seconds * STEPS; i++) {
        double command = law_command(law, setpoint, plant_measure(plant), STEP);

        assert_true(command >= 0);
        assert_true(command <= 1);
        plant_advance(plant, command, STEP);
        highest = plant->level > highest ? plant->level : highest;
    }
    return highest;
}

static void test_level_reaches_each_setpoint(void **state)
{
    struct plant plant;
    struct law law = {0};
    double highest;

    (void)state;
    plant_init(&plant);
    highest = control(&plant, &law, 0.35, 12);
    check_close(plant.level, 0.35, ACCURATE);
    assert_true(highest <= 0.35 + OVERSHOOT);
    (void)control(&plant, &law, 0.2, 12);
    check_close(plant.level, 0.2, ACCURATE);
    /* After a long time at a limit the integral does not hold the pump. */
    (void)control(&plant, &law, 1, 60);
    check_close(plant.level, PLANT_HEIGHT, ACCURATE);
    (void)control(&plant, &law, 0.2, 12);
    check_close(plant.level, 0.2, ACCURATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tank_fills_and_empties),
        cmocka_unit_test(test_measurements_have_bounded_noise),
        cmocka_unit_test(test_same_commands_give_same_measurements),
        cmocka_unit_test(test_level_reaches_each_setpoint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
