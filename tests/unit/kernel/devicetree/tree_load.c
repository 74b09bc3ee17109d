/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)65536)

void *tree_load(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    void *blob = malloc(BYTES_MAX);
    void *exact;

    if (file == NULL || blob == NULL) {
        perror(path);
        exit(2);
    }
    *bytes = fread(blob, 1, BYTES_MAX, file);
    if (*bytes == 0 || *bytes == BYTES_MAX || ferror(file) != 0) {
        perror(path);
        exit(2);
    }
    (void)fclose(file);
    exact = malloc(*bytes);
    if (exact == NULL) {
        exit(2);
    }
    memcpy(exact, blob, *bytes);
    free(blob);
    return exact;
}
