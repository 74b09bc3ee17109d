/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of both sides. */
#include "command.h"

#include <stddef.h>
#include <stdio.h>

#define COLUMN   20 /* characters */
#define KINDS    (LINUX_ONE_WAY + 1)
#define FIELD(x) offsetof(struct channel_control, x)

struct row {
    const char *names[KINDS]; /* NULL: not for channels of this kind */
    size_t field;
};

static const struct row rows[] = {
    {{"generation", NULL, NULL}, FIELD(generation)},
    {{"connected with", NULL, NULL}, FIELD(acknowledged)},
    {{"messages sent", "values sent", "messages sent"}, FIELD(sent)},
    {{"received", "received", NULL}, FIELD(received)},
    {{"bytes sent", NULL, "bytes sent"}, FIELD(produced)},
    {{"notifications", "notifications", "notifications"}, FIELD(notifications)},
    {{"sleeps", "sleeps", NULL}, FIELD(sleeps)},
    {{"errors", "errors", NULL}, FIELD(errors)},
};

/* Prints a counter of an end, if it has a section. */
static void show_counter(const struct channel_control *control, size_t field)
{
    const uint8_t *page = (const void *)control;

    if (control == NULL) {
        printf(" %*s", COLUMN, "-");
    } else {
        printf(" %*llu", COLUMN,
               (unsigned long long)word_load(channel_constant_word(page + field)));
    }
}

/* Prints the size of the channel: of its rings, or of its values. */
static void show_size(const struct linux_endpoint *endpoint)
{
    static const struct {
        const char *thing, *direction;
    } texts[KINDS] = {
        [LINUX_MESSAGES] = {"ring of", "each way"},
        [LINUX_VALUE] = {"values of up to", "each way"},
        [LINUX_ONE_WAY] = {"ring of", "from end 0 to end 1"},
    };
    enum linux_kind kind = linux_endpoint_kind(endpoint);
    uint64_t ring_bytes = linux_endpoint_ring_bytes(endpoint);
    uint64_t bytes = kind == LINUX_VALUE ? value_content_max(ring_bytes) : ring_bytes;

    printf("%s %llu bytes %s\n", texts[kind].thing, (unsigned long long)bytes,
           texts[kind].direction);
}

int show_counters(struct linux_endpoint *endpoint, const struct options *options)
{
    (void)options;
    show_size(endpoint);
    printf("%-16s %*s %*s\n", "end", COLUMN, "0", COLUMN, "1");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *name = rows[i].names[linux_endpoint_kind(endpoint)];

        if (name != NULL) {
            printf("%-16s", name);
            show_counter(linux_control(endpoint, 0), rows[i].field);
            show_counter(linux_control(endpoint, 1), rows[i].field);
            putchar('\n');
        }
    }
    return STATUS_DONE;
}
