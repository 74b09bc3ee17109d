/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests damaged descriptions like test_description_damage.c, with changes chosen by libFuzzer. Its
 * input is a list of changes (pairs of an offset and a value) to a valid description, which then
 * gets a valid checksum.
 */
#include "description_fixture.h"

#include <string.h>

#define CHANGE_BYTES 10u /* offset / 4, value */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct description description;

    if (bytes % 5 == 0) {
        description_make(&description);
    } else if (bytes % 5 == 1) {
        description_make_weighted(&description);
    } else if (bytes % 5 == 2) {
        description_make_connected(&description);
    } else if (bytes % 5 == 3) {
        description_make_served(&description);
    } else {
        description_make_shared(&description);
    }
    for (; bytes >= CHANGE_BYTES; data += CHANGE_BYTES, bytes -= CHANGE_BYTES) {
        uint16_t place;

        memcpy(&place, data, sizeof(place));
        memcpy((char *)&description + (size_t)place * 4 % (sizeof(description) - 8), data + 2, 8);
    }
    description_seal(&description);
    description_exercise(&description, DESCRIPTION_ROOM);
    return 0;
}
