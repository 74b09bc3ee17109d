/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "processors.h"
#include "model_limits.h"
#include <dlfcn.h>
#include <stddef.h>

static struct {
    void *const *executing;     /* QEMU's variable, of the processors' thread */
    void *seen[PROCESSORS_MAX]; /* its values, in the order of their first use */
    uint32_t last;              /* index of the value that was read last */
} processors;

bool processors_find(void)
{
    processors.executing = (void *const *)dlsym(RTLD_DEFAULT, "current_cpu");
    return processors.executing != NULL;
}

uint32_t processors_executing(void)
{
    void *now = *processors.executing;
    uint32_t number = 0;

    if (processors.seen[processors.last] == now) {
        return processors.last;
    }
    while (number < PROCESSORS_MAX && processors.seen[number] != NULL &&
           processors.seen[number] != now) {
        number++;
    }
    if (number < PROCESSORS_MAX) {
        processors.seen[number] = now;
        processors.last = number;
    }
    return number;
}
