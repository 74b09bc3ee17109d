/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the text from left to right, without going back. */
#include "boot/vcpu_arguments.h"

#include "kernel/time.h"
#include <string.h>

struct reader {
    const char *text;
    size_t at;
    struct vcpu_arguments *arguments;
    struct vcpu_argument_error *error;
};

static bool refuse(struct reader *reader, size_t at, const char *what)
{
    reader->error->what = what;
    reader->error->position = at + 1;
    return false;
}

static bool accept(struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(reader->text + reader->at, word, length) != 0) {
        return false;
    }
    reader->at += length;
    return true;
}

static bool require(struct reader *reader, const char *word, const char *what)
{
    return accept(reader, word) || refuse(reader, reader->at, what);
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

static bool is_name_character(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           is_digit(character) || character == '-' || character == '_' || character == '.';
}

static bool read_name(struct reader *reader, char name[THREAD_NAME_BYTES])
{
    size_t start = reader->at;
    size_t length;

    while (is_name_character(reader->text[reader->at])) {
        reader->at++;
    }
    length = reader->at - start;
    if (length == 0) {
        return refuse(reader, start, "a name of letters, digits, - _ and . is missing");
    }
    if (length >= THREAD_NAME_BYTES) {
        return refuse(reader, start + THREAD_NAME_BYTES - 1, "the name is too long");
    }
    memset(name, 0, THREAD_NAME_BYTES);
    memcpy(name, reader->text + start, length);
    return true;
}

static bool read_policy(struct reader *reader, enum vcpu_policy *policy)
{
    *policy = accept(reader, "io") ? SCHED_PIBS : SCHED_SPORADIC;
    return *policy == SCHED_PIBS || require(reader, "main", "the policy main or io is missing");
}

static bool read_unit(struct reader *reader, uint64_t *nanoseconds)
{
    static const struct {
        const char *name;
        uint64_t nanoseconds;
    } units[] = {
        {"ns", 1},
        {"us", NANOSECONDS_PER_MICROSECOND},
        {"ms", NANOSECONDS_PER_MILLISECOND},
        {"s", NANOSECONDS_PER_SECOND},
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (accept(reader, units[i].name)) {
            *nanoseconds = units[i].nanoseconds;
            return true;
        }
    }
    return refuse(reader, reader->at, "the unit ns, us, ms or s is missing");
}

static bool read_time(struct reader *reader, uint64_t *nanoseconds)
{
    size_t start = reader->at;
    uint64_t number = 0;
    uint64_t unit;

    while (is_digit(reader->text[reader->at])) {
        uint64_t digit = (uint64_t)(reader->text[reader->at] - '0');

        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, digit, &number)) {
            return refuse(reader, start, "the time is too long");
        }
        reader->at++;
    }
    if (reader->at == start) {
        return refuse(reader, start, "a time is missing");
    }
    if (number == 0) {
        return refuse(reader, start, "the time is 0");
    }
    if (!read_unit(reader, &unit)) {
        return false;
    }
    if (__builtin_mul_overflow(number, unit, nanoseconds)) {
        return refuse(reader, start, "the time is too long");
    }
    return true;
}

static bool read_times(struct reader *reader, struct vcpu_argument *vcpu)
{
    size_t start = reader->at;

    if (!read_time(reader, &vcpu->budget) ||
        !require(reader, "/", "/ is missing between budget and period") ||
        !read_time(reader, &vcpu->period)) {
        return false;
    }
    return vcpu->budget <= vcpu->period || refuse(reader, start, "the budget is above the period");
}

/* Reads the part that may follow the times. */
static bool read_blocking(struct reader *reader, struct vcpu_argument *vcpu)
{
    size_t start = reader->at + 1;

    if (!accept(reader, "/")) {
        return true;
    }
    if (!read_time(reader, &vcpu->blocking)) {
        return false;
    }
    return vcpu->blocking <= vcpu->period ||
           refuse(reader, start, "the blocking is above the period");
}

/* Gives the current VCPU a thread, whose name is in the text at `start`. */
static bool add_thread(struct reader *reader, size_t start, const char name[THREAD_NAME_BYTES])
{
    struct vcpu_arguments *arguments = reader->arguments;

    for (size_t i = 0; i < arguments->thread_count; i++) {
        if (strcmp(arguments->threads[i].name, name) == 0) {
            return refuse(reader, start, "another VCPU has this thread, or this one has it twice");
        }
    }
    if (arguments->thread_count == VCPU_ARGUMENTS_THREADS_MAX) {
        return refuse(reader, start, "there are too many threads");
    }
    struct vcpu_argument_thread *thread = &arguments->threads[arguments->thread_count++];

    memcpy(thread->name, name, THREAD_NAME_BYTES);
    thread->vcpu = arguments->vcpu_count;
    return true;
}

static bool add_all_others(struct reader *reader, struct vcpu_argument *vcpu)
{
    struct vcpu_arguments *arguments = reader->arguments;

    for (size_t i = 0; i <= arguments->vcpu_count; i++) {
        if (arguments->vcpus[i].has_all_others) {
            return refuse(reader, reader->at - 1, "another VCPU has *, or this one has it twice");
        }
    }
    vcpu->has_all_others = true;
    return true;
}

static bool read_thread(struct reader *reader, struct vcpu_argument *vcpu)
{
    char name[THREAD_NAME_BYTES];
    size_t start = reader->at;

    if (accept(reader, "*")) {
        return add_all_others(reader, vcpu);
    }
    return read_name(reader, name) && add_thread(reader, start, name);
}

static bool read_threads(struct reader *reader, struct vcpu_argument *vcpu)
{
    do {
        if (!read_thread(reader, vcpu)) {
            return false;
        }
    } while (accept(reader, "+"));
    return true;
}

static bool is_taken(const struct vcpu_arguments *arguments, const char *name)
{
    for (size_t i = 0; i < arguments->vcpu_count; i++) {
        if (strcmp(arguments->vcpus[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_vcpu(struct reader *reader)
{
    static const char no_colon[] = ": is missing";
    size_t start = reader->at;
    struct vcpu_argument *vcpu = &reader->arguments->vcpus[reader->arguments->vcpu_count];

    if (reader->arguments->vcpu_count == VCPU_MAX) {
        return refuse(reader, start, "there are too many VCPUs");
    }
    *vcpu = (struct vcpu_argument){.has_all_others = false};
    if (!read_name(reader, vcpu->name)) {
        return false;
    }
    if (is_taken(reader->arguments, vcpu->name)) {
        return refuse(reader, start, "another VCPU has this name");
    }
    if (!require(reader, ":", no_colon) || !read_policy(reader, &vcpu->policy) ||
        !require(reader, ":", no_colon) || !read_times(reader, vcpu) ||
        !read_blocking(reader, vcpu)) {
        return false;
    }
    if (!(accept(reader, ":") ? read_threads(reader, vcpu)
                              : add_thread(reader, start, vcpu->name))) {
        return false;
    }
    reader->arguments->vcpu_count++;
    return true;
}

static bool read_all(struct reader *reader)
{
    if (strnlen(reader->text, VCPU_ARGUMENTS_TEXT_BYTES) >= VCPU_ARGUMENTS_TEXT_BYTES - 1) {
        return refuse(reader, VCPU_ARGUMENTS_TEXT_BYTES - 2, "the text is too long");
    }
    do {
        if (!read_vcpu(reader)) {
            return false;
        }
    } while (accept(reader, ","));
    return reader->text[reader->at] == 0 || refuse(reader, reader->at, "a comma is missing");
}

bool vcpu_arguments_parse(struct vcpu_arguments *arguments, const char *text,
                          struct vcpu_argument_error *error)
{
    struct reader reader = {.text = text, .arguments = arguments, .error = error};

    arguments->vcpu_count = 0;
    arguments->thread_count = 0;
    if (!read_all(&reader)) {
        arguments->vcpu_count = 0;
        arguments->thread_count = 0;
        return false;
    }
    return true;
}

uint32_t vcpu_arguments_threads(const struct vcpu_arguments *arguments, size_t vcpu)
{
    uint32_t count = arguments->vcpus[vcpu].has_all_others ? 1 : 0;

    for (size_t i = 0; i < arguments->thread_count; i++) {
        count += arguments->threads[i].vcpu == vcpu ? 1 : 0;
    }
    return count;
}

const struct vcpu_argument *vcpu_arguments_find(const struct vcpu_arguments *arguments,
                                                const char *thread)
{
    for (size_t i = 0; i < arguments->thread_count; i++) {
        if (strcmp(arguments->threads[i].name, thread) == 0) {
            return &arguments->vcpus[arguments->threads[i].vcpu];
        }
    }
    for (size_t i = 0; i < arguments->vcpu_count; i++) {
        if (arguments->vcpus[i].has_all_others) {
            return &arguments->vcpus[i];
        }
    }
    return NULL;
}
