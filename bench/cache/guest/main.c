/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest of ./bulkhead bench cache. The boot argument `role` says what it does. */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "roles.h"
#include <string.h>

#define NAME_BYTES 16u

static const struct {
    const char *name;
    void (*play)(void);
} roles[] = {
    {"victim", be_victim},        {"read", read_in_turn},
    {"write", write_in_turn},     {"pages", read_one_of_each_page},
    {"random", access_at_random}, {"pointers", follow_pointers},
    {"code", execute_much_code},  {"restart", read_and_restart},
};

int application_main(void)
{
    char role[NAME_BYTES];

    if (boot_argument("role", role, sizeof(role))) {
        for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
            if (strcmp(role, roles[i].name) == 0) {
                roles[i].play();
                return 0;
            }
        }
    }
    print("FAIL: cache: the boot argument `role` is none\n");
    return 1;
}
