/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares our C library's functions under the names that libc_names.h gives them in host
 * builds. */
#ifndef TESTED_LIBC_H
#define TESTED_LIBC_H

#include <stdarg.h>
#include <stddef.h>

void *tested_memcpy(void *destination, const void *source, size_t bytes);
void *tested_memmove(void *destination, const void *source, size_t bytes);
void *tested_memset(void *memory, int value, size_t bytes);
int tested_memcmp(const void *first, const void *second, size_t bytes);
void *tested_memchr(const void *memory, int value, size_t bytes);
size_t tested_strlen(const char *text);
size_t tested_strnlen(const char *text, size_t limit);
int tested_strcmp(const char *first, const char *second);
int tested_strncmp(const char *first, const char *second, size_t limit);
int tested_strcasecmp(const char *first, const char *second);
int tested_strncasecmp(const char *first, const char *second, size_t limit);
char *tested_strchr(const char *text, int character);
char *tested_strrchr(const char *text, int character);
char *tested_strstr(const char *text, const char *part);
char *tested_strcpy(char *destination, const char *source);
char *tested_strncpy(char *destination, const char *source, size_t bytes);
char *tested_strcat(char *destination, const char *source);
long tested_strtol(const char *text, char **end, int base);
unsigned long tested_strtoul(const char *text, char **end, int base);
int tested_atoi(const char *text);
int tested_snprintf(char *text, size_t bytes, const char *format, ...);
int tested_vsnprintf(char *text, size_t bytes, const char *format, va_list arguments);

#endif
