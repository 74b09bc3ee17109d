/* SPDX-License-Identifier: BSD-2-Clause */
/* <string.h> of guest builds: C11 7.24 and POSIX, as far as the kernel, lwIP and libfdt use it. */
#ifndef _STRING_H
#define _STRING_H

#include <stddef.h>

void *memcpy(void *restrict destination, const void *restrict source, size_t bytes);
void *memmove(void *destination, const void *source, size_t bytes);
void *memset(void *memory, int value, size_t bytes);
int memcmp(const void *first, const void *second, size_t bytes);
void *memchr(const void *memory, int value, size_t bytes);

size_t strlen(const char *text);
size_t strnlen(const char *text, size_t limit);
int strcmp(const char *first, const char *second);
int strncmp(const char *first, const char *second, size_t limit);
int strcasecmp(const char *first, const char *second);
int strncasecmp(const char *first, const char *second, size_t limit);
char *strchr(const char *text, int character);
char *strrchr(const char *text, int character);
char *strstr(const char *text, const char *part);
char *strcpy(char *restrict destination, const char *restrict source);
char *strncpy(char *restrict destination, const char *restrict source, size_t bytes);
char *strcat(char *restrict destination, const char *restrict source);

#endif
