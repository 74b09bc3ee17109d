/* SPDX-License-Identifier: BSD-2-Clause */
/* Types of the back-end that the tools use (tools/layouts/layout.h). */
#include "layout.h"

#include "backend/frame_mirror.h"
#include "backend/network_report.h"
#include "backend/storage_report.h"
#include <stdint.h>

void layouts_counters(void);
void layouts_report(void);
void layouts_mirror(void);
void layouts_storage_counters(void);
void layouts_storage_report(void);

void layouts_counters(void)
{
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, NO_PORT);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, SHORT);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, LONG);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, GROUP);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, VLAN);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, SPOOFED);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, LOOPED);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, RESERVED);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, SAME_PORT);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, NO_RECEIVER);
    LAYOUT_ENUMERATOR(frame_drop, FRAME_DROP_, NO_BUFFER);
    LAYOUT_WHOLE_STRUCT(frame_counters);
    LAYOUT_NUMBER(frame_counters, frames);
    LAYOUT_NUMBER(frame_counters, bytes);
    LAYOUT_NUMBERS(frame_counters, drops);
    LAYOUT_WHOLE_STRUCT(frame_port_counters);
    LAYOUT_NESTED(frame_port_counters, received, frame_counters);
    LAYOUT_NESTED(frame_port_counters, sent, frame_counters);
}

void layouts_report(void)
{
    LAYOUT_CONSTANT(NETWORK_REPORT_VERSION);
    LAYOUT_ENUMERATOR(network_port_state, NETWORK_PORT_, NO_DRIVER);
    LAYOUT_ENUMERATOR(network_port_state, NETWORK_PORT_, DOWN);
    LAYOUT_ENUMERATOR(network_port_state, NETWORK_PORT_, UP);
    LAYOUT_ENUMERATOR(network_port_state, NETWORK_PORT_, FAILED);
    LAYOUT_WHOLE_STRUCT(network_record);
    LAYOUT_NUMBERS(network_record, device);
    LAYOUT_NUMBERS(network_record, client);
    LAYOUT_NUMBER(network_record, state);
    LAYOUT_NESTED(network_record, frames, frame_port_counters);
    LAYOUT_NUMBER(network_record, bad_chains);
    LAYOUT_NUMBER(network_record, bad_checksums);
    LAYOUT_NUMBER(network_record, waits);
    LAYOUT_NUMBER(network_record, doorbells);
    LAYOUT_NUMBER(network_record, interrupts);
    LAYOUT_NUMBER(network_record, starts);
    LAYOUT_NUMBER(network_record, resumed);
    LAYOUT_NUMBER(network_record, failures);
    LAYOUT_WHOLE_STRUCT(network_report);
    LAYOUT_NUMBER(network_report, life);
    LAYOUT_NUMBER(network_report, started);
    LAYOUT_NUMBER(network_report, updated);
    LAYOUT_NUMBER(network_report, record_count);
    LAYOUT_NUMBER(network_report, record_bytes);
    LAYOUT_NESTED(network_report, records, network_record);
}

void layouts_mirror(void)
{
    LAYOUT_CONSTANT(FRAME_MIRROR_VERSION);
    LAYOUT_CONSTANT(FRAME_MIRROR_SLOTS_MAX);
    LAYOUT_CONSTANT(FRAME_MIRROR_SILENCE);
    LAYOUT_CONSTANT(DEVICE_NET_FRAME_MAX);
    LAYOUT_ENUMERATOR(frame_mirror_direction, FRAME_MIRROR_, RECEIVED);
    LAYOUT_ENUMERATOR(frame_mirror_direction, FRAME_MIRROR_, SENT);
    LAYOUT_WHOLE_STRUCT(frame_mirror_slot);
    LAYOUT_NUMBER(frame_mirror_slot, number);
    LAYOUT_NUMBER(frame_mirror_slot, time);
    LAYOUT_NUMBER(frame_mirror_slot, frame_bytes);
    LAYOUT_NUMBER(frame_mirror_slot, kept_bytes);
    LAYOUT_NUMBER(frame_mirror_slot, offset);
    LAYOUT_NUMBER(frame_mirror_slot, bytes);
    LAYOUT_NUMBER(frame_mirror_slot, port);
    LAYOUT_NUMBER(frame_mirror_slot, direction);
    LAYOUT_NUMBERS(frame_mirror_slot, content);
    LAYOUT_WHOLE_STRUCT(frame_mirror_ring);
    LAYOUT_NUMBER(frame_mirror_ring, life);
    LAYOUT_NUMBER(frame_mirror_ring, written);
    LAYOUT_NUMBER(frame_mirror_ring, slot_count);
    LAYOUT_NUMBER(frame_mirror_ring, slot_bytes);
    LAYOUT_NUMBERS(frame_mirror_ring, reserved_1);
    LAYOUT_NUMBER(frame_mirror_ring, beat);
    LAYOUT_NUMBER(frame_mirror_ring, ports);
    LAYOUT_NUMBER(frame_mirror_ring, bytes_limit);
    LAYOUT_NUMBERS(frame_mirror_ring, reserved_2);
}

void layouts_storage_counters(void)
{
    LAYOUT_ENUMERATOR(storage_state, STORAGE_, CLOSED);
    LAYOUT_ENUMERATOR(storage_state, STORAGE_, OPEN);
    LAYOUT_ENUMERATOR(storage_state, STORAGE_, GONE);
    LAYOUT_ENUMERATOR(storage_client_state, STORAGE_CLIENT_, STOPPED);
    LAYOUT_ENUMERATOR(storage_client_state, STORAGE_CLIENT_, RUNNING);
    LAYOUT_ENUMERATOR(storage_client_state, STORAGE_CLIENT_, FAILED);
    LAYOUT_WHOLE_STRUCT(storage_counters);
    LAYOUT_NUMBER(storage_counters, reads);
    LAYOUT_NUMBER(storage_counters, read_bytes);
    LAYOUT_NUMBER(storage_counters, writes);
    LAYOUT_NUMBER(storage_counters, written_bytes);
    LAYOUT_NUMBER(storage_counters, flushes);
    LAYOUT_NUMBER(storage_counters, errors);
}

void layouts_storage_report(void)
{
    LAYOUT_CONSTANT(STORAGE_REPORT_VERSION);
    LAYOUT_WHOLE_STRUCT(storage_disk_record);
    LAYOUT_NUMBER(storage_disk_record, state);
    LAYOUT_NUMBER(storage_disk_record, sectors);
    LAYOUT_NESTED(storage_disk_record, transfers, storage_counters);
    LAYOUT_NUMBER(storage_disk_record, in_flight);
    LAYOUT_NUMBER(storage_disk_record, starts);
    LAYOUT_NUMBER(storage_disk_record, failures);
    LAYOUT_WHOLE_STRUCT(storage_record);
    LAYOUT_NUMBERS(storage_record, device);
    LAYOUT_NUMBERS(storage_record, client);
    LAYOUT_NUMBER(storage_record, state);
    LAYOUT_NESTED(storage_record, requests, storage_counters);
    LAYOUT_NUMBER(storage_record, refused);
    LAYOUT_NUMBER(storage_record, in_flight);
    LAYOUT_NUMBER(storage_record, doorbells);
    LAYOUT_NUMBER(storage_record, interrupts);
    LAYOUT_NUMBER(storage_record, starts);
    LAYOUT_NUMBER(storage_record, resumed);
    LAYOUT_NUMBER(storage_record, failures);
    LAYOUT_WHOLE_STRUCT(storage_report);
    LAYOUT_NUMBER(storage_report, life);
    LAYOUT_NUMBER(storage_report, started);
    LAYOUT_NUMBER(storage_report, updated);
    LAYOUT_NUMBER(storage_report, record_count);
    LAYOUT_NUMBER(storage_report, record_bytes);
    LAYOUT_NESTED(storage_report, disk, storage_disk_record);
    LAYOUT_NESTED(storage_report, records, storage_record);
}
