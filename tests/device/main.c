/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the driver on a device model of QEMU: one case of the tables in cases_*.c, with the settings
 * of the command line (setting.h). test_device.py starts QEMU and this program.
 */
#include "cases.h"
#include "rules.h"
#include <stdio.h>
#include <string.h>

static struct setting setting;
static struct station stations[STATION_PAIRS_MAX];
static const struct device_case *chosen;

static void run(void **state)
{
    (void)state;
    station_open(stations, &setting);
    rules_watch(stations);
    chosen->run(stations);
    station_close(stations);
    rules_report();
}

static const struct device_case *find(const char *name)
{
    static const struct device_case *const tables[] = {
        control_cases, offload_cases, pairs_cases,   recovery_cases,
        reset_cases,   start_cases,   traffic_cases,
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct device_case *each = tables[i]; each->name != NULL; each++) {
            if (strcmp(each->name, name) == 0) {
                return each;
            }
        }
    }
    return NULL;
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run)};

    if (!setting_parse(&setting, count - 1, words + 1)) {
        return 2;
    }
    chosen = find(setting.name);
    if (chosen == NULL) {
        (void)fprintf(stderr, "there is no case %s\n", setting.name);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
