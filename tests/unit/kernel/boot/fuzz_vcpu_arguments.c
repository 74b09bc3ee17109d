/* SPDX-License-Identifier: BSD-2-Clause */
/* Feeds texts to the parser of the boot argument `vcpus`; libFuzzer looks for such that reach new
 * code. */
#include "vcpu_text.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);

    if (text != NULL) {
        memcpy(text, data, bytes);
        text[bytes] = 0;
        (void)vcpu_text_check(text);
    }
    free(text);
    return 0;
}
