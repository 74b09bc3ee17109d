/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the bridge, which is part of the Python package. */
#include "command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Python would report a missing package by several lines, and another status. */
static char program[] =
    "import sys\n"
    "try:\n"
    "    from bulkhead_channel.bridge.command import main\n"
    "except ImportError as error:\n"
    "    print('bulkhead-channel: bridge needs the Python package bulkhead_channel:', error,\n"
    "          file=sys.stderr)\n"
    "    sys.exit(2)\n"
    "sys.exit(main(sys.argv[1:]))\n";

int bridge_execute(char **words, size_t count)
{
    char *arguments[BRIDGE_WORDS_MAX + 4] = {"python3", "-c", program};

    if (count > BRIDGE_WORDS_MAX) {
        return command_fail("bridge takes at most %u words", BRIDGE_WORDS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        arguments[3 + i] = words[i];
    }
    (void)execvp(arguments[0], arguments);
    return command_fail("bridge needs python3: %s", strerror(errno));
}
