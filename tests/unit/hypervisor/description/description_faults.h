/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of faults for the checks of parts of a description: one or two fields of a valid
 * description change at a time. */
#ifndef DESCRIPTION_FAULTS_H
#define DESCRIPTION_FAULTS_H

#include "hypervisor/description.h"
#include <stddef.h>
#include <stdint.h>

#define FAULT_CHANGES_MAX 3u

struct description_change {
    size_t offset;
    size_t bytes; /* 0: no change */
    uint64_t value;
};

struct description_fault {
    const char *text; /* of the check; NULL: the description is valid */
    uint64_t value;   /* of the check, with a text */
    struct description_change changes[FAULT_CHANGES_MAX];
};

/* A change of a member of struct description. */
#define SET(field, new_value) \
    {offsetof(struct description, field), sizeof(((struct description *)0)->field), new_value}

/* Makes a description for each fault, changes it, and fails the test if `check` returns another
 * text or value. */
void description_expect_faults(const struct description_fault *faults, size_t count,
                               void (*make)(struct description *description),
                               const char *(*check)(const struct description *description,
                                                    uint64_t *value));

#endif
