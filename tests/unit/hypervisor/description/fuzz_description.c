/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same for libFuzzer: its input is laid over a right description (pairs of a place and a
 * value), which then gets the checksum that it needs.
 */
#include "description_fixture.h"

#include <string.h>

#define CHANGE_BYTES 10u /* place / 4, value */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct description description;

    description_make(&description);
    for (; bytes >= CHANGE_BYTES; data += CHANGE_BYTES, bytes -= CHANGE_BYTES) {
        uint16_t place;

        memcpy(&place, data, sizeof(place));
        memcpy((char *)&description + (size_t)place * 4 % (sizeof(description) - 8), data + 2, 8);
    }
    description_seal(&description);
    description_exercise(&description, DESCRIPTION_ROOM);
    return 0;
}
