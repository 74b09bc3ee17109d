/* SPDX-License-Identifier: BSD-2-Clause */
#include "description_faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void apply(struct description *description, const struct description_change *change)
{
    memcpy((char *)description + change->offset, &change->value, change->bytes);
}

void description_expect_faults(const struct description_fault *faults, size_t count,
                               void (*make)(struct description *description),
                               const char *(*check)(const struct description *description,
                                                    uint64_t *value))
{
    static struct description description;

    for (size_t i = 0; i < count; i++) {
        const struct description_fault *fault = &faults[i];
        uint64_t value = 0;
        const char *text;

        make(&description);
        for (unsigned j = 0; j < FAULT_CHANGES_MAX; j++) {
            apply(&description, &fault->changes[j]);
        }
        text = check(&description, &value);
        if ((text == NULL) != (fault->text == NULL) ||
            (text != NULL && (strcmp(text, fault->text) != 0 || value != fault->value))) {
            fail_msg("fault %zu: %s 0x%llx", i, text, (unsigned long long)value);
        }
    }
}
