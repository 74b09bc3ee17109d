/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The manager of a system: it creates, starts, stops, replaces and destroys other partitions, as
 * `./bulkhead partition` asks from outside, or as typed on its console, one command a line: `list`,
 * `create N`, `start N`, `stop N`, `destroy N`, `crash N`, `log N`, where N is the partition's
 * place in the system file, from 0.
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
    {"create", ORDER_CREATE},   {"start", ORDER_START}, {"stop", ORDER_STOP},
    {"destroy", ORDER_DESTROY}, {"crash", ORDER_CRASH},
};

static const char *const states[] = {"absent", "stopped", "running", "busy", "failed"};

static void list(void)
{
    for (uint32_t i = 0; i < CALL_PARTITIONS_MAX; i++) {
        struct partition_situation situation = partition_status(i);

        if (situation.state >= PARTITION_STATE_ABSENT &&
            situation.state <= PARTITION_STATE_FAILED) {
            print("manager: partition %u is %s, errors: %lu%s\n", (unsigned)i,
                  states[situation.state], (unsigned long)situation.errors,
                  situation.result == MANAGER_RESTARTS_USED_UP ? ", restarts used up" : "");
        }
    }
}

static const char *const errors[HEALTH_ERRORS] = {
    "memory violation", "refused DMA", "SError",           "device failure", "panic",
    "watchdog",         "heartbeat",   "restarts used up",
};
static const char *const actions[HEALTH_ACTIONS] = {"stop", "ignore", "log", "restart", "failover"};

/* Prints the partition's log, in which other records may be appended meanwhile. */
static void show_log(uint32_t partition)
{
    struct health_record record = {.number = 0};

    for (unsigned i = 0;
         i < HEALTH_LOG_RECORDS && partition_log(partition, record.number + 1, &record); i++) {
        print("manager: error %lu of %u at %lu: %s: %s, address 0x%lx, syndrome 0x%lx, pc 0x%lx\n",
              (unsigned long)record.number, (unsigned)partition, (unsigned long)record.time,
              record.error < HEALTH_ERRORS ? errors[record.error] : "unknown",
              record.action < HEALTH_ACTIONS ? actions[record.action] : "unknown",
              (unsigned long)record.address, (unsigned long)record.syndrome,
              (unsigned long)record.pc);
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
    if (space != NULL && strcmp(line, "log") == 0) {
        show_log(partition);
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
          "destroy N, crash N, log N\n",
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
