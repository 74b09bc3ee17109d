/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON (RFC 8259) into memory of fixed size. Members and elements are separated as needed;
 * texts are escaped. `name` is NULL for elements of arrays and for the outermost value.
 */
#ifndef DEMO_JSON_H
#define DEMO_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    char *text;
    size_t capacity;
    size_t length;
    bool separate; /* the next value follows another one */
    bool overflow; /* the text did not fit, and is not valid JSON */
};

void json_init(struct json *json, char *text, size_t capacity);
void json_object(struct json *json, const char *name);
void json_end_object(struct json *json);
void json_array(struct json *json, const char *name);
void json_end_array(struct json *json);
void json_number(struct json *json, const char *name, uint64_t value);
void json_boolean(struct json *json, const char *name, bool value);
void json_text(struct json *json, const char *name, const char *value);

#endif
