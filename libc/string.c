/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings. The mem... functions for guests are in arm64/, for tests in portable_memory.c. */
#include <string.h>

#include <ctype.h>

size_t strlen(const char *text)
{
    const char *end = text;

    while (*end != '\0') {
        end++;
    }
    return (size_t)(end - text);
}

size_t strnlen(const char *text, size_t limit)
{
    size_t length = 0;

    while (length < limit && text[length] != '\0') {
        length++;
    }
    return length;
}

void *memchr(const void *memory, int value, size_t bytes)
{
    const unsigned char *byte = memory;

    for (; bytes > 0; bytes--, byte++) {
        if (*byte == (unsigned char)value) {
            return (void *)(size_t)byte;
        }
    }
    return NULL;
}

int strncmp(const char *first, const char *second, size_t limit)
{
    for (; limit > 0; limit--, first++, second++) {
        unsigned char a = (unsigned char)*first;
        unsigned char b = (unsigned char)*second;

        if (a != b || a == '\0') {
            return a - b;
        }
    }
    return 0;
}

int strcmp(const char *first, const char *second)
{
    while (*first != '\0' && *first == *second) {
        first++;
        second++;
    }
    return (unsigned char)*first - (unsigned char)*second;
}

int strncasecmp(const char *first, const char *second, size_t limit)
{
    for (; limit > 0; limit--, first++, second++) {
        int a = tolower((unsigned char)*first);
        int b = tolower((unsigned char)*second);

        if (a != b || a == '\0') {
            return a - b;
        }
    }
    return 0;
}

int strcasecmp(const char *first, const char *second)
{
    return strncasecmp(first, second, (size_t)-1);
}

char *strchr(const char *text, int character)
{
    for (; *text != (char)character; text++) {
        if (*text == '\0') {
            return NULL;
        }
    }
    return (char *)(size_t)text;
}

char *strrchr(const char *text, int character)
{
    const char *found = NULL;

    for (;; text++) {
        if (*text == (char)character) {
            found = text;
        }
        if (*text == '\0') {
            return (char *)(size_t)found;
        }
    }
}

char *strstr(const char *text, const char *part)
{
    size_t length = strlen(part);

    if (length == 0) {
        return (char *)(size_t)text;
    }
    for (text = strchr(text, *part); text != NULL; text = strchr(text + 1, *part)) {
        if (strncmp(text, part, length) == 0) {
            break;
        }
    }
    return (char *)(size_t)text;
}

char *strcpy(char *restrict destination, const char *restrict source)
{
    return memcpy(destination, source, strlen(source) + 1);
}

char *strncpy(char *restrict destination, const char *restrict source, size_t bytes)
{
    size_t length = strnlen(source, bytes);

    memcpy(destination, source, length);
    memset(destination + length, 0, bytes - length);
    return destination;
}

char *strcat(char *restrict destination, const char *restrict source)
{
    strcpy(destination + strlen(destination), source);
    return destination;
}
