/* SPDX-License-Identifier: BSD-2-Clause */
/* memcpy(), memmove(), memset() and memcmp() for architectures without an implementation in
 * assembly: one byte at a time. */
#include <string.h>

#include <stdint.h>

void *memmove(void *destination, const void *source, size_t bytes)
{
    unsigned char *to = destination;
    const unsigned char *from = source;

    if ((uintptr_t)to - (uintptr_t)from >= bytes) {
        for (size_t i = 0; i < bytes; i++) {
            to[i] = from[i];
        }
    } else {
        for (size_t i = bytes; i > 0; i--) {
            to[i - 1] = from[i - 1];
        }
    }
    return destination;
}

void *memcpy(void *restrict destination, const void *restrict source, size_t bytes)
{
    return memmove(destination, source, bytes);
}

void *memset(void *memory, int value, size_t bytes)
{
    unsigned char *byte = memory;

    for (size_t i = 0; i < bytes; i++) {
        byte[i] = (unsigned char)value;
    }
    return memory;
}

int memcmp(const void *first, const void *second, size_t bytes)
{
    const unsigned char *a = first;
    const unsigned char *b = second;

    for (size_t i = 0; i < bytes; i++) {
        if (a[i] != b[i]) {
            return a[i] - b[i];
        }
    }
    return 0;
}
