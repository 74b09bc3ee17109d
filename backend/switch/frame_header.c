/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/frame_header.h"

#define TYPE_C_TAG         0x8100u
#define TYPE_S_TAG         0x88a8u
#define TYPE_OLD_S_TAG     0x9100u
#define SOURCE_OFFSET      FRAME_ADDRESS_BYTES
#define TYPE_OFFSET        FRAME_ADDRESSES_BYTES
#define TAG_CONTROL_OFFSET (TYPE_OFFSET + 2)

static uint16_t read_16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint64_t read_address(const uint8_t *bytes)
{
    uint64_t address = 0;

    for (unsigned i = 0; i < FRAME_ADDRESS_BYTES; i++) {
        address = address << 8 | bytes[i];
    }
    return address;
}

bool frame_header_read(struct frame_header *header, const uint8_t *bytes, uint32_t frame_bytes)
{
    if (frame_bytes < FRAME_HEADER_BYTES) {
        return false;
    }
    *header = (struct frame_header){
        .destination = read_address(bytes),
        .source = read_address(bytes + SOURCE_OFFSET),
        .type = read_16(bytes + TYPE_OFFSET),
    };
    if (header->type != TYPE_C_TAG) {
        return true;
    }
    if (frame_bytes < FRAME_HEADER_BYTES_MAX) {
        return false;
    }
    header->has_tag = true;
    header->control = read_16(bytes + TAG_CONTROL_OFFSET);
    header->type = read_16(bytes + TYPE_OFFSET + FRAME_TAG_BYTES);
    return true;
}

bool frame_type_is_tag(uint16_t type)
{
    return type == TYPE_C_TAG || type == TYPE_S_TAG || type == TYPE_OLD_S_TAG;
}
