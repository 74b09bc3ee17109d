/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that ./bulkhead campaign and its plugin share: a file that both map. The campaign
 * writes its part while the machine is held, so each word has one writer at any time.
 * tools/bulkhead/campaign/control.py reads and writes the same structure.
 */
#ifndef CAMPAIGN_CONTROL_H
#define CAMPAIGN_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#define CONTROL_CHARACTERS_MAX 65536u

struct control {
    /* Written by the plugin. */
    atomic_uint_fast64_t now;     /* instructions that all processors have executed */
    atomic_uint_fast64_t victim;  /* those of them in the victim's memory */
    atomic_uint_fast64_t is_held; /* 1: the machine is held. The campaign writes 0 to release it */
    /* Written by the campaign. The machine is held when a count is reached. 0: never. */
    uint64_t hold_at_now;
    uint64_t hold_at_victim;
    /* The faulty place: physical addresses. start == end: no place is watched. */
    uint64_t watched_start;
    uint64_t watched_end;
    uint64_t hold_at_access; /* not 0: the machine is held at the first access to the place */
    /* The faulty instruction: its virtual address and its code. 0: none is watched. */
    uint64_t watched_pc;
    uint64_t watched_code;
    uint64_t follows; /* not 0: the digests below are made from now on */
    /* Written by the plugin. */
    uint64_t blocks; /* digest of the blocks that the victim executes, in their order */
    uint64_t stores; /* digest of its stores */
    uint64_t turns;  /* digest of the times of the first turns of the processors */
    /* `now` at the first access to the faulty place, 0: none. */
    uint64_t first_read;
    uint64_t first_write;
    uint64_t first_execution;
    /* `now` at each write to the terminal. */
    uint64_t characters;
    uint64_t written[CONTROL_CHARACTERS_MAX];
};

#endif
