/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The manager of a system: it creates, starts, stops, replaces and destroys other partitions, as
 * `./bulkhead partition` asks from outside, or as typed on its console, one command a line: `list`,
 * `create N`, `start N`, `stop N`, `destroy N`, where N is the partition's place in the system
 * file, from 0.
 */
#include "calls.h"
#include "kernel/application.h"
#include "kernel/console.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "requests.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES       48u
#define POLL_NANOSECONDS (10 * NANOSECONDS_PER_MILLISECOND)

static const struct {
    const char *name;
    enum order_command command;
} commands[] = {
    {"create", ORDER_CREATE},
    {"start", ORDER_START},
    {"stop", ORDER_STOP},
    {"destroy", ORDER_DESTROY},
};

static const char *const states[] = {"absent", "stopped", "running", "busy", "failed"};

static void list(void)
{
    int64_t result, state;

    for (uint32_t i = 0; i < CALL_PARTITIONS_MAX; i++) {
        state = partition_status(i, &result);
        if (state >= PARTITION_STATE_ABSENT && state <= PARTITION_STATE_FAILED) {
            print("manager: partition %u is %s\n", (unsigned)i, states[state]);
        }
    }
}

static void execute(char *line)
{
    static const struct staged none;
    char *space = strchr(line, ' ');
    uint32_t partition = space != NULL ? (uint32_t)strtoul(space, NULL, 0) : 0;

    if (space != NULL) {
        *space = '\0';
    }
    if (strcmp(line, "list") == 0) {
        list();
        return;
    }
    for (size_t i = 0; space != NULL && i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(line, commands[i].name) == 0) {
            int64_t result = partition_order(commands[i].command, partition, &none);

            print("manager: %s %u: %ld\n", line, (unsigned)partition, (long)result);
            return;
        }
    }
    print("manager: unknown command %s; the commands are list, create N, start N, stop N, "
          "destroy N\n",
          line);
}

int application_main(void)
{
    char line[LINE_BYTES];
    size_t length = 0;
    char byte;

    if (!requests_begin()) {
        print("manager: this partition has no staging memory: it is not the manager\n");
        return 1;
    }
    print("manager: listens\n");
    for (;;) {
        if (console_read(&byte, time_now() + POLL_NANOSECONDS) != RESULT_OK) {
            requests_serve();
        } else if (byte == '\n') {
            line[length] = '\0';
            length = 0;
            execute(line);
        } else if (length < LINE_BYTES - 1) {
            line[length++] = byte;
        }
    }
}
