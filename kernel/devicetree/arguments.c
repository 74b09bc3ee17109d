/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Boot arguments: /chosen/bootargs as words. If a name is given twice, the last one counts, so that
 * an appended argument overrides an earlier one.
 */
#include "devicetree/devicetree_private.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include <string.h>

struct text {
    const char *start;
    size_t length;
};

static bool is_space(char character)
{
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

/* Removes the next word from the front. Returns false at the end. */
static bool next_word(struct text *rest, struct text *word)
{
    while (rest->length > 0 && is_space(*rest->start)) {
        rest->start++;
        rest->length--;
    }
    word->start = rest->start;
    word->length = 0;
    while (rest->length > 0 && !is_space(*rest->start)) {
        rest->start++;
        rest->length--;
        word->length++;
    }
    return word->length > 0;
}

/* Finds the value of a word that is `name` or `name=value`. Returns false for any other word. */
static bool word_value(const struct text *word, const char *name, struct text *value)
{
    size_t length = strlen(name);

    if (word->length < length || memcmp(word->start, name, length) != 0) {
        return false;
    }
    value->start = word->start + length;
    value->length = word->length - length;
    if (value->length > 0) {
        if (*value->start != '=') {
            return false;
        }
        value->start++;
        value->length--;
    }
    return true;
}

static bool find_value(const char *name, struct text *value)
{
    unsigned bytes = 0;
    const char *arguments = devicetree_bootargs(&bytes);
    struct text rest = {.start = arguments, .length = arguments == NULL ? 0 : bytes};
    struct text word, candidate;
    bool found = false;

    while (next_word(&rest, &word)) {
        if (word_value(&word, name, &candidate)) {
            *value = candidate;
            found = true;
        }
    }
    return found;
}

bool boot_argument(const char *name, char *value, size_t capacity)
{
    struct text text;

    if (!find_value(name, &text)) {
        return false;
    }
    if (capacity > 0) {
        size_t length = text.length < capacity ? text.length : capacity - 1;

        memcpy(value, text.start, length);
        value[length] = 0;
    }
    return true;
}

/* Returns the value of a hexadecimal digit, 16 for any other character. */
static unsigned digit_value(char character)
{
    if (character >= '0' && character <= '9') {
        return (unsigned)(character - '0');
    }
    if (character >= 'a' && character <= 'f') {
        return (unsigned)(character - 'a') + 10;
    }
    if (character >= 'A' && character <= 'F') {
        return (unsigned)(character - 'A') + 10;
    }
    return 16;
}

static bool parse_number(struct text text, uint64_t *number)
{
    unsigned base = 10;

    if (text.length > 2 && text.start[0] == '0' && (text.start[1] == 'x' || text.start[1] == 'X')) {
        base = 16;
        text.start += 2;
        text.length -= 2;
    }
    *number = 0;
    for (size_t at = 0; at < text.length; at++) {
        unsigned digit = digit_value(text.start[at]);

        if (digit >= base || *number > (UINT64_MAX - digit) / base) {
            return false;
        }
        *number = *number * base + digit;
    }
    return text.length > 0;
}

uint64_t boot_argument_number(const char *name, uint64_t fallback, uint64_t minimum,
                              uint64_t maximum)
{
    struct text text;
    uint64_t number;

    if (!find_value(name, &text)) {
        return fallback;
    }
    if (parse_number(text, &number) && number >= minimum && number <= maximum) {
        return number;
    }
    print("boot argument %s=%.*s: not a number from %llu to %llu, taking %llu\n", name,
          text.length > 40 ? 40 : (int)text.length, text.start, (unsigned long long)minimum,
          (unsigned long long)maximum, (unsigned long long)fallback);
    return fallback;
}
