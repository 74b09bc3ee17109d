/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* secure_getenv() */
#include "lent.h"

#include "endpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE    "BULKHEAD_CHANNELS"
#define LENT_MAX    16u /* channels of a system */
#define NUMBERS     8u
#define ENTRY_BYTES (LINUX_NAME_BYTES + NUMBERS * 21)

struct lent {
    char name[LINUX_NAME_BYTES];
    struct linux_function function;
};

static struct lent lent[LENT_MAX];
static unsigned lent_count;
static pthread_once_t is_read = PTHREAD_ONCE_INIT;

/* Reads numbers with a comma between them, up to a space or the end. */
static bool read_numbers(const char *text, uint64_t numbers[NUMBERS])
{
    char *end;

    for (unsigned i = 0; i < NUMBERS; i++) {
        errno = 0;
        numbers[i] = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || errno != 0) {
            return false;
        }
        if (i + 1 < NUMBERS && *end != ',') {
            return false;
        }
        text = end + 1;
    }
    return *end == ' ' || *end == '\0';
}

static bool is_file(uint64_t number)
{
    return number <= INT_MAX && fcntl((int)number, F_GETFD) >= 0;
}

/* Adds an entry of `length` characters, unless it is damaged. */
static void add(const char *entry, size_t length)
{
    const char *equals = memchr(entry, '=', length);
    uint64_t numbers[NUMBERS];
    struct lent *new;

    if (equals == NULL || equals - entry >= (ptrdiff_t)LINUX_NAME_BYTES || lent_count == LENT_MAX ||
        !read_numbers(equals + 1, numbers) || numbers[0] > LINUX_ONE_WAY || !is_file(numbers[2]) ||
        !is_file(numbers[3]) || !is_file(numbers[4]) || !is_file(numbers[5])) {
        return;
    }
    new = &lent[lent_count++];
    memcpy(new->name, entry, (size_t)(equals - entry));
    new->function = (struct linux_function){
        .kind = (enum linux_kind)numbers[0],
        .ring_bytes = numbers[1],
        .config = (int)numbers[2],
        .interrupt = (int)numbers[3],
        .registers = (int)numbers[4],
        .memory = (int)numbers[5],
        .memory_offset = numbers[6],
        .common_bytes = numbers[7],
    };
}

static void read_environment(void)
{
    const char *entry = secure_getenv(VARIABLE);

    while (entry != NULL && *entry != '\0') {
        size_t length = strcspn(entry, " ");

        add(entry, length);
        entry += length + (entry[length] == ' ' ? 1 : 0);
    }
}

struct linux_function *lent_find(const char *name)
{
    (void)pthread_once(&is_read, read_environment);
    for (unsigned i = 0; i < lent_count; i++) {
        if (strcmp(lent[i].name, name) == 0) {
            return &lent[i].function;
        }
    }
    return NULL;
}

/* Lets the next program have a file. */
static bool keep_open(int file)
{
    int flags = fcntl(file, F_GETFD);

    return flags >= 0 && fcntl(file, F_SETFD, flags & ~FD_CLOEXEC) == 0;
}

bool linux_lend_function(const char *name, const struct linux_function *function, char *problem)
{
    const char *before = getenv(VARIABLE);
    size_t length = before == NULL ? 0 : strlen(before);
    char *value = malloc(length + ENTRY_BYTES);
    bool is_lent;

    if (value == NULL) {
        return endpoint_fail(problem, "there is no memory to lend %s", name);
    }
    /* The newest entry comes first, because the first one of a name counts. */
    (void)snprintf(value, length + ENTRY_BYTES,
                   "%s=%d,%" PRIu64 ",%d,%d,%d,%d,%" PRIu64 ",%" PRIu64 "%s%s", name,
                   (int)function->kind, function->ring_bytes, function->config, function->interrupt,
                   function->registers, function->memory, function->memory_offset,
                   function->common_bytes, length == 0 ? "" : " ", length == 0 ? "" : before);
    is_lent = keep_open(function->config) && keep_open(function->interrupt) &&
              keep_open(function->registers) && keep_open(function->memory) &&
              setenv(VARIABLE, value, 1) == 0;
    free(value);
    return is_lent || endpoint_fail(problem, "%s can't be lent: %s", name, strerror(errno));
}
