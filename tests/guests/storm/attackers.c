/* SPDX-License-Identifier: BSD-2-Clause */
#include "attackers.h"

#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "work.h"
#include <stddef.h>

#define STEPS_MAX   64u
#define TEXT_BYTES  1024u
#define STACK_BYTES 4096u
#define PRIORITY    40u

struct step {
    uint64_t at;    /* nanoseconds after the pattern's begin */
    uint64_t turns; /* of work_execute() */
};

struct attacker {
    uint64_t begin;
    uint64_t length; /* nanoseconds */
    size_t count;
    struct step steps[STEPS_MAX];
};

static struct attacker attackers[ATTACKERS_MAX];

static void attack(void *argument)
{
    const struct attacker *attacker = argument;

    for (uint64_t begin = attacker->begin;; begin += attacker->length) {
        for (size_t i = 0; i < attacker->count; i++) {
            thread_sleep_until(begin + attacker->steps[i].at);
            work_execute(attacker->steps[i].turns);
        }
    }
}

/* Reads a number and the character behind it, unless the text ends. */
static uint64_t read_number(const char **text, char *separator)
{
    uint64_t number = 0;

    while (**text >= '0' && **text <= '9') {
        number = number * 10 + (uint64_t)(**text - '0');
        *text += 1;
    }
    *separator = **text;
    *text += **text == '\0' ? 0 : 1;
    return number;
}

static bool parse(struct attacker *attacker, const char *text)
{
    char separator;

    attacker->length = read_number(&text, &separator) * NANOSECONDS_PER_MICROSECOND;
    if (attacker->length == 0 || separator != ':') {
        return false;
    }
    for (attacker->count = 0; separator != '\0'; attacker->count++) {
        struct step *step = &attacker->steps[attacker->count];

        if (attacker->count == STEPS_MAX) {
            return false;
        }
        step->at = read_number(&text, &separator) * NANOSECONDS_PER_MICROSECOND;
        if (separator != '+') {
            return false;
        }
        step->turns = work_turns(read_number(&text, &separator) * NANOSECONDS_PER_MICROSECOND);
        if (separator != ',' && separator != '\0') {
            return false;
        }
    }
    return true;
}

static bool start(struct attacker *attacker, const char *name)
{
    const struct thread_attributes attributes = {
        .name = name, .priority = PRIORITY, .stack_bytes = STACK_BYTES};
    struct thread *thread;

    return thread_create(&thread, &attributes, attack, attacker) == RESULT_OK;
}

bool attackers_start(uint64_t begin)
{
    static char text[TEXT_BYTES];
    char name[] = "attacker0";

    for (size_t i = 0; i < ATTACKERS_MAX; i++) {
        struct attacker *attacker = &attackers[i];

        name[sizeof(name) - 2] = (char)('0' + i);
        if (!boot_argument(name, text, sizeof(text))) {
            continue;
        }
        attacker->begin = begin;
        if (!parse(attacker, text) || !start(attacker, name)) {
            print("FAIL: %s can't be started\n", name);
            return false;
        }
    }
    return true;
}
