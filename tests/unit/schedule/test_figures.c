/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schedules of Quest-V's paper (3.3). Figure 7: VCPU 0 (10, 40) is CPU-bound from t = 1 on.
 * VCPU 1 (20, 50), with a list of three replenishments, requests I/O after each 18 ticks of its
 * execution. The I/O VCPU has 4 %.
 */
#include "core.h"
#include "schedule_test.h"
#include "tokens.h"
#include <string.h>

#define FIGURE_7_TICKS 115u

struct figure_7 {
    struct core core;
    struct core_vcpu *zero;
    struct core_vcpu *one;
    struct core_vcpu *io;
    char timeline[FIGURE_7_TICKS + 1]; /* who executes at each tick */
};

static void figure_7_begin(struct figure_7 *figure)
{
    memset(figure, 0, sizeof(*figure));
    figure->zero = core_add_main(&figure->core, 10, 40, 3);
    figure->one = core_add_main(&figure->core, 20, 50, 3);
    figure->io = core_add_io(&figure->core, 4, 100);
    core_wake(&figure->core, figure->one, 0);
}

/* What happens before the tick that begins now. Other VCPUs, which the figure does not show, delay
 * VCPU 1 until 40. */
static void figure_7_events(struct figure_7 *figure)
{
    struct core *core = &figure->core;

    if (core->now == 1) {
        core_wake(core, figure->zero, 0);
    }
    if (figure->one->runnable && figure->one->executed == 18) {
        core_block(core, figure->one);
        core_wake(core, figure->io, figure->one->sporadic.period);
    }
    if (figure->io->runnable && figure->io->executed == 2) {
        core_block(core, figure->io);
    }
    if (!figure->io->runnable && !figure->one->runnable && core->now >= 40) {
        core_wake(core, figure->one, 0);
    }
}

static void figure_7_run_until(struct figure_7 *figure, uint64_t end)
{
    struct core *core = &figure->core;

    for (;;) {
        figure_7_events(figure);
        if (core->now == end) {
            return;
        }
        struct core_vcpu *vcpu = core_pick(core);
        char *place = &figure->timeline[core->now];

        if (vcpu == NULL) {
            *place = '.';
        } else if (vcpu == figure->io) {
            *place = 'I';
        } else {
            *place = vcpu == figure->one ? '1' : '0';
        }
        core_execute(core, vcpu);
    }
}

static void figure_7_expect(struct figure_7 *figure, uint64_t time, const char *replenishments)
{
    figure_7_run_until(figure, time);
    CHECK_REPLENISHMENTS(&figure->one->sporadic, replenishments);
}

static void test_figure_7_replenishments(void **state)
{
    struct figure_7 figure;

    (void)state;
    figure_7_begin(&figure);
    figure_7_expect(&figure, 0, "20@0");
    figure_7_expect(&figure, 27, "20@0");
    figure_7_expect(&figure, 28, "2@0 18@50");
    figure_7_expect(&figure, 40, "2@40 18@50");
    figure_7_expect(&figure, 51, "2@40 18@50");
    assert_true(figure.one->sporadic.usage == 1);
    figure_7_expect(&figure, 52, "18@50 2@90");
    figure_7_expect(&figure, 68, "2@50 2@90 16@100");
    figure_7_expect(&figure, 78, "2@50 2@90 16@100");
    figure_7_expect(&figure, 80, "2@80 2@90 16@100");
    figure_7_expect(&figure, 92, "2@90 16@100 2@130");
    figure_7_expect(&figure, 94, "16@100 2@130 2@140");
    figure_7_expect(&figure, 113, "16@100 2@130 2@140");
    figure_7_expect(&figure, 114, "4@130 2@140 14@150");
}

static void test_figure_7_schedule(void **state)
{
    struct figure_7 figure;

    (void)state;
    figure_7_begin(&figure);
    figure_7_run_until(&figure, 114);
    assert_string_equal(figure.timeline, "1"
                                         "0000000000"
                                         "11111111111111111"
                                         "II"
                                         ".........."
                                         "1"
                                         "0000000000"
                                         "11111111111111111"
                                         ".........."
                                         "II"
                                         "1"
                                         "0000000000"
                                         "111"
                                         "......"
                                         "11111111111111");
}

static unsigned count(const char *text, char wanted, unsigned first, unsigned end)
{
    unsigned found = 0;

    for (unsigned i = first; i < end; i++) {
        found += text[i] == wanted ? 1 : 0;
    }
    return found;
}

/* VCPU 1 gets 40 of 100 units, and not the 46 of the POSIX server, schedule B. */
static void test_figure_7_share(void **state)
{
    struct figure_7 figure;

    (void)state;
    figure_7_begin(&figure);
    figure_7_run_until(&figure, 100);
    assert_int_equal(count(figure.timeline, '1', 0, 100), 40);
    assert_int_equal(count(figure.timeline, '1', 50, 100), 21);
    assert_int_equal(count(figure.timeline, '0', 1, 41), 10);
    assert_int_equal(count(figure.timeline, 'I', 0, 100), 4);
}

/* Three CPU-bound VCPUs, as in Figure 6 (the budgets are not those of the figure): each gets its
 * share in every period, by priority. */
static void test_figure_6(void **state)
{
    static const struct {
        uint64_t budget;
        uint64_t period;
    } parameters[] = {{1, 4}, {2, 8}, {8, 16}};
    struct core core = {.count = 0};
    char timeline[65] = "";

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        core_wake(&core, core_add_main(&core, parameters[i].budget, parameters[i].period, 2), 0);
    }
    while (core.now < 64) {
        struct core_vcpu *vcpu = core_pick(&core);

        assert_non_null(vcpu);
        timeline[core.now] = (char)('0' + (vcpu - core.vcpu));
        core_execute(&core, vcpu);
    }
    for (unsigned i = 0; i < 3; i++) {
        unsigned period = (unsigned)parameters[i].period;

        for (unsigned begin = 0; begin < 64; begin += period) {
            assert_int_equal(count(timeline, (char)('0' + i), begin, begin + period),
                             parameters[i].budget);
        }
    }
    assert_memory_equal(timeline, "0112022201120222", 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_7_replenishments),
        cmocka_unit_test(test_figure_7_schedule),
        cmocka_unit_test(test_figure_7_share),
        cmocka_unit_test(test_figure_6),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
