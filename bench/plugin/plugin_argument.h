/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of a plugin: NAME=VALUE each. */
#ifndef BENCH_PLUGIN_ARGUMENT_H
#define BENCH_PLUGIN_ARGUMENT_H

#include <stddef.h>
#include <string.h>

/* Returns the rest of the argument after `name`, which ends with '='. Returns NULL if the argument
 * does not begin with `name`. */
static inline const char *plugin_argument(const char *argument, const char *name)
{
    size_t length = strlen(name);

    return strncmp(argument, name, length) == 0 ? argument + length : NULL;
}

/* Parses all arguments, each by one call. */
static inline void plugin_parse(int count, char *const *arguments, void (*parse)(const char *))
{
    for (int i = 0; i < count; i++) {
        parse(arguments[i]);
    }
}

#endif
