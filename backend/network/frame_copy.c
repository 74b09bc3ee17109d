/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/frame_copy.h"
#include <string.h>

/* Writes two bytes, which may be in two pieces. */
static void put(const struct device_segment *pieces, uint32_t place, uint16_t value)
{
    for (unsigned i = 0; i < sizeof(value); i++, place++) {
        const struct device_segment *piece = pieces;
        uint32_t at = place;

        while (at >= piece->bytes) {
            at -= piece->bytes;
            piece++;
        }
        piece->memory[at] = (uint8_t)(value >> (i == 0 ? 8 : 0));
    }
}

unsigned frame_copy(const struct device_net_frame *frame, struct device_segment *pieces,
                    bool completes)
{
    struct device_net_frame copy = *frame;
    unsigned piece = 0;
    uint32_t filled = 0; /* bytes of the piece */

    for (unsigned i = 0; i < frame->count; i++) {
        const struct device_segment *segment = &frame->segments[i];

        for (uint32_t done = 0; done < segment->bytes;) {
            uint32_t rest = segment->bytes - done;
            uint32_t bytes;

            if (filled == pieces[piece].bytes) {
                piece++;
                filled = 0;
            }
            bytes = rest < pieces[piece].bytes - filled ? rest : pieces[piece].bytes - filled;
            memcpy(pieces[piece].memory + filled, segment->memory + done, bytes);
            filled += bytes;
            done += bytes;
        }
    }
    pieces[piece].bytes = filled;
    if (completes && frame->checksum_partial) {
        copy.segments = pieces;
        copy.count = piece + 1;
        put(pieces, (uint32_t)frame->checksum_start + frame->checksum_offset,
            device_net_checksum(&copy));
    }
    return piece + 1;
}
