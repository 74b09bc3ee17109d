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

static void show_size(const struct linux_endpoint *endpoint)
{
    unsigned long long bytes = endpoint->memory.ring_bytes;

    switch (endpoint->kind) {
    case LINUX_MESSAGES:
        printf("ring of %llu bytes each way\n", bytes);
        break;
    case LINUX_VALUE:
        printf("values of up to %llu bytes each way\n",
               (unsigned long long)value_content_max(endpoint->memory.ring_bytes));
        break;
    case LINUX_ONE_WAY:
        printf("ring of %llu bytes from end 0 to end 1\n", bytes);
        break;
    }
}

int show_counters(struct linux_endpoint *endpoint, const struct options *options)
{
    (void)options;
    show_size(endpoint);
    printf("%-16s %*s %*s\n", "end", COLUMN, "0", COLUMN, "1");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *name = rows[i].names[endpoint->kind];

        if (name != NULL) {
            printf("%-16s", name);
            show_counter(linux_control(endpoint, 0), rows[i].field);
            show_counter(linux_control(endpoint, 1), rows[i].field);
            putchar('\n');
        }
    }
    return STATUS_DONE;
}
