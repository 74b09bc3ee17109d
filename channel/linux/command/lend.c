/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int lend(const struct options *options)
{
    char problem[LINUX_PROBLEM_BYTES];
    struct linux_function function;

    if (options->is_file) {
        return command_fail("lend is for channels with other partitions, not for the path %s",
                            options->channel);
    }
    if (options->words[0] == NULL) {
        return command_fail("lend: name a program after the channel: see --help");
    }
    if (!linux_open_function(options->channel, &function, problem) ||
        !linux_lend_function(options->channel, &function, problem)) {
        return command_fail("%s", problem);
    }
    (void)execvp(options->words[0], options->words);
    return command_fail("%s can't be executed: %s", options->words[0], strerror(errno));
}
