/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Feeds damaged trees to the kernel like test_damage.c; libFuzzer looks for damage that reaches new
 * code.
 */
#include "tree.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    void *blob = malloc(bytes + 1); /* aligned, unlike `data` */

    if (blob != NULL) {
        memcpy(blob, data, bytes);
        tree_exercise(blob, bytes);
    }
    free(blob);
    return 0;
}
