/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the functions of a test guest in order, until the first CHECK that fails. */
#ifndef APPS_TESTS_RUN_CHECKS_H
#define APPS_TESTS_RUN_CHECKS_H

#include "kernel/print.h"
#include <stdbool.h>

/* Prints the source line and returns false from the enclosing function if the condition is
 * false. */
#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            print("FAIL: %s:%d: %s\n", __FILE_NAME__, __LINE__, #condition); \
            return false;                                                    \
        }                                                                    \
    } while (0)

struct named_check {
    const char *name;
    bool (*run)(void);
};

/* Runs the checks and returns the exit status for application_main(). */
static inline int run_checks(const struct named_check *checks, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        print("%s\n", checks[i].name);
        if (!checks[i].run()) {
            print("FAIL: %s\n", checks[i].name);
            return 1;
        }
    }
    print("PASS\n");
    return 0;
}

#endif
