/* SPDX-License-Identifier: BSD-2-Clause */
/* See json.h. */
#include "json.h"
#include <stdio.h>
#include <string.h>

static void append(struct json *json, const char *text, size_t bytes)
{
    if (json->overflow || bytes > json->capacity - json->length) {
        json->overflow = true;
        return;
    }
    memcpy(json->text + json->length, text, bytes);
    json->length += bytes;
}

static void append_character(struct json *json, char character)
{
    append(json, &character, 1);
}

static void append_quoted(struct json *json, const char *text)
{
    char escape[8];

    append_character(json, '"');
    for (; *text != '\0'; text++) {
        unsigned char character = (unsigned char)*text;

        if (character == '"' || character == '\\') {
            append_character(json, '\\');
            append_character(json, *text);
        } else if (character < 0x20 || character >= 0x7f) {
            (void)snprintf(escape, sizeof(escape), "\\u%04x", character);
            append(json, escape, 6);
        } else {
            append_character(json, *text);
        }
    }
    append_character(json, '"');
}

static void begin_value(struct json *json, const char *name)
{
    if (json->separate) {
        append_character(json, ',');
    }
    if (name != NULL) {
        append_quoted(json, name);
        append_character(json, ':');
    }
    json->separate = true;
}

void json_init(struct json *json, char *text, size_t capacity)
{
    json->text = text;
    json->capacity = capacity;
    json->length = 0;
    json->separate = false;
    json->overflow = false;
}

static void begin_group(struct json *json, const char *name, char bracket)
{
    begin_value(json, name);
    append_character(json, bracket);
    json->separate = false;
}

static void end_group(struct json *json, char bracket)
{
    append_character(json, bracket);
    json->separate = true;
}

void json_object(struct json *json, const char *name)
{
    begin_group(json, name, '{');
}

void json_end_object(struct json *json)
{
    end_group(json, '}');
}

void json_array(struct json *json, const char *name)
{
    begin_group(json, name, '[');
}

void json_end_array(struct json *json)
{
    end_group(json, ']');
}

void json_number(struct json *json, const char *name, uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);

    begin_value(json, name);
    append(json, digits, (size_t)length);
}

void json_boolean(struct json *json, const char *name, bool value)
{
    begin_value(json, name);
    append(json, value ? "true" : "false", value ? 4 : 5);
}

void json_text(struct json *json, const char *name, const char *value)
{
    begin_value(json, name);
    append_quoted(json, value);
}
