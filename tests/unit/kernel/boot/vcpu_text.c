/* SPDX-License-Identifier: BSD-2-Clause */
/* See vcpu_text.h. */
#include "vcpu_text.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each time has up to 20 digits; each name is in the text that was read. */
#define WRITTEN_BYTES (VCPU_ARGUMENTS_TEXT_BYTES + VCPU_MAX * 96)

static void check(bool condition, const char *rule, const char *text)
{
    if (!condition) {
        (void)fprintf(stderr, "%s: %s\n", rule, text);
        abort();
    }
}

static bool has_thread(const struct vcpu_arguments *arguments, size_t vcpu)
{
    for (size_t i = 0; i < arguments->thread_count; i++) {
        if (arguments->threads[i].vcpu == vcpu) {
            return true;
        }
    }
    return arguments->vcpus[vcpu].has_all_others;
}

static void check_vcpu(const struct vcpu_arguments *arguments, size_t index, const char *text)
{
    const struct vcpu_argument *vcpu = &arguments->vcpus[index];

    check(vcpu->name[0] != 0, "a name is empty", text);
    check(memchr(vcpu->name, 0, THREAD_NAME_BYTES) != NULL, "a name has no end", text);
    check(vcpu->budget > 0 && vcpu->budget <= vcpu->period, "wrong times", text);
    check(vcpu->blocking <= vcpu->period, "wrong blocking", text);
    check(has_thread(arguments, index), "a VCPU has no thread", text);
    for (size_t i = 0; i < index; i++) {
        check(strcmp(arguments->vcpus[i].name, vcpu->name) != 0, "equal names", text);
        check(!arguments->vcpus[i].has_all_others || !vcpu->has_all_others, "two *", text);
    }
}

static void check_thread(const struct vcpu_arguments *arguments, size_t index, const char *text)
{
    const struct vcpu_argument_thread *thread = &arguments->threads[index];

    check(thread->name[0] != 0, "a thread's name is empty", text);
    check(memchr(thread->name, 0, THREAD_NAME_BYTES) != NULL, "a thread's name has no end", text);
    check(thread->vcpu < arguments->vcpu_count, "a thread without a VCPU", text);
    check(vcpu_arguments_find(arguments, thread->name) == &arguments->vcpus[thread->vcpu],
          "a thread is not found, or twice there", text);
}

static void check_accepted(const struct vcpu_arguments *arguments, const char *text)
{
    char written[WRITTEN_BYTES], again[WRITTEN_BYTES];
    struct vcpu_arguments other;
    struct vcpu_argument_error error;

    check(arguments->vcpu_count > 0, "accepted, and empty", text);
    check(arguments->vcpu_count <= VCPU_MAX, "too many VCPUs", text);
    check(arguments->thread_count <= VCPU_ARGUMENTS_THREADS_MAX, "too many threads", text);
    for (size_t i = 0; i < arguments->vcpu_count; i++) {
        check_vcpu(arguments, i, text);
    }
    for (size_t i = 0; i < arguments->thread_count; i++) {
        check_thread(arguments, i, text);
    }
    vcpu_text_write(arguments, written, sizeof(written));
    if (strlen(written) < VCPU_ARGUMENTS_TEXT_BYTES - 1) {
        check(vcpu_arguments_parse(&other, written, &error), "refused when written anew", written);
        vcpu_text_write(&other, again, sizeof(again));
        check(strcmp(written, again) == 0, "another meaning when written anew", written);
    }
}

static void check_refused(const struct vcpu_arguments *arguments,
                          const struct vcpu_argument_error *error, const char *text)
{
    check(arguments->vcpu_count == 0 && arguments->thread_count == 0, "refused, not empty", text);
    check(vcpu_arguments_find(arguments, "init") == NULL, "refused, and found", text);
    check(error->what != NULL && strchr(error->what, '\n') == NULL, "no line of text", text);
    check(error->position >= 1 && error->position <= strlen(text) + 1, "no position", text);
}

bool vcpu_text_check(const char *text)
{
    struct vcpu_arguments arguments;
    struct vcpu_argument_error error = {NULL, 0};
    bool accepted;

    memset(&arguments, 0xa5, sizeof(arguments));
    accepted = vcpu_arguments_parse(&arguments, text, &error);
    if (accepted) {
        check_accepted(&arguments, text);
    } else {
        check_refused(&arguments, &error, text);
    }
    return accepted;
}

void vcpu_text_write(const struct vcpu_arguments *arguments, char *text, size_t capacity)
{
    size_t used = 0;

#define WRITE(...)                                                                        \
    do {                                                                                  \
        used += (size_t)snprintf(text + used, capacity - used, __VA_ARGS__);              \
        check(used < capacity, "the written text is too long", arguments->vcpus[0].name); \
    } while (0)
    for (size_t i = 0; i < arguments->vcpu_count; i++) {
        const struct vcpu_argument *vcpu = &arguments->vcpus[i];
        const char *separator = ":";

        WRITE("%s%s:%s:%" PRIu64 "ns/%" PRIu64 "ns", i == 0 ? "" : ",", vcpu->name,
              vcpu->policy == SCHED_PIBS ? "io" : "main", vcpu->budget, vcpu->period);
        if (vcpu->blocking != 0) {
            WRITE("/%" PRIu64 "ns", vcpu->blocking);
        }
        for (size_t thread = 0; thread < arguments->thread_count; thread++) {
            if (arguments->threads[thread].vcpu == i) {
                WRITE("%s%s", separator, arguments->threads[thread].name);
                separator = "+";
            }
        }
        if (vcpu->has_all_others) {
            WRITE("%s*", separator);
        }
    }
#undef WRITE
}
