/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing translation table entries that the hardware may walk at any moment (Arm ARM, "TLB
 * maintenance requirements and the TLB maintenance instructions").
 */
#ifndef TABLE_MAINTENANCE_H
#define TABLE_MAINTENANCE_H

#include <stdint.h>

/* Writes an entry that was invalid. TLBs hold no invalid entries, so barriers are enough. */
void table_entry_make(uint64_t *entry, uint64_t descriptor);

/* Invalidates an entry that maps [address, address + bytes), in the table and in the TLBs. */
void table_entry_break(uint64_t *entry, uint64_t address, uint64_t bytes);

/* Replaces a valid entry by break-before-make. The range is not mapped for a moment, so `entry`
 * must not lie in it. */
void table_entry_break_and_make(uint64_t *entry, uint64_t descriptor, uint64_t address,
                                uint64_t bytes);

#endif
