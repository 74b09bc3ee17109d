/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A malicious client of a shared device: it writes any register, by the hypervisor's own code, and
 * anything to its memory, before, between and while the back-end reads.
 *
 *     memory.c     its windows, between pages that nobody can access
 *     registers.c  its device's registers and its driver's calls of them
 *     rings.c      chains of its queues, right and wrong
 *     trace.c      the back-end's accesses: counted, checked, and answered by a changed word
 *
 * The programs fuzz_network.c and fuzz_storage.c have honest clients beside it, whose traffic they
 * verify after each step.
 */
#ifndef TESTS_HOSTILE_ATTACKER_H
#define TESTS_HOSTILE_ATTACKER_H

#include "shared_device/registers.h"
#include "virtio/device_queue.h"
#include <stdbool.h>
#include <stdint.h>

#define ATTACKER_CHECK(condition, ...)                      \
    do {                                                    \
        if (!(condition)) {                                 \
            attacker_fail(__FILE__, __LINE__, __VA_ARGS__); \
        }                                                   \
    } while (0)

/* Prints the reason, and aborts. */
void attacker_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* Returns the value of two operands of a step: small, wide, or at a limit. */
uint32_t attacker_value(uint8_t b, uint8_t c);

/* ---- memory.c ---- */

/* The client's memory: two windows that follow each other in its addresses, and not in the
 * back-end's. Offsets are from the start of the first. */
#define ATTACKER_START        UINT64_C(0x40000000)
#define ATTACKER_WINDOW_BYTES 65536u
#define ATTACKER_BYTES        (ATTACKER_WINDOW_BYTES + 16384u)
#define ATTACKER_RING_BYTES   8192u  /* of each queue, in the first window */
#define ATTACKER_TABLES       24576u /* place of indirect tables */
#define ATTACKER_BUFFERS      32768u /* and of buffers, to the end of the second window */

/* Clears the memory, and returns its windows. */
const struct device_memory *memory_begin(void);
/* Returns the client's memory, or NULL if the bytes are not inside one window. */
uint8_t *memory_at(uint64_t address, uint64_t bytes);
/* Returns true if the address is in a window of the back-end's. */
bool memory_contains(const void *here);
/* The client writes a number in little-endian order, if the place is its own. */
void memory_put16(uint64_t address, uint32_t value);
void memory_put32(uint64_t address, uint32_t value);

/* ---- registers.c ---- */

#define ATTACKER_QUEUES 3u

/* Begins with a device of this kind and page. `acknowledged`: the last generation that the back-end
 * has acknowledged. */
void registers_begin(const struct shared_device_kind *described, struct shared_device_page *page,
                     const uint32_t *acknowledged);
/* Returns the page. */
const struct shared_device_page *registers_page(void);
/* Writes a register, or reads it. */
void registers_write(uint32_t offset, uint32_t value);
uint32_t registers_read(uint32_t offset);
/* Writes one of the registers, by number. */
void registers_write_any(uint8_t which, uint32_t value);
/* A driver sets up the device as the standard says, with all queues of `size` entries, and these
 * features. */
void registers_start(uint64_t features, uint32_t size);
void registers_reset(void);
/* Returns true if the back-end has acknowledged that the driver has stopped: it may not access the
 * memory. */
bool registers_are_stopped(void);
/* Returns true if the back-end has acknowledged all changes. */
bool registers_are_acknowledged(void);

/* ---- rings.c ---- */

struct attacker_piece {
    uint64_t address;
    uint32_t bytes;
    bool is_writable;
};

/* Makes a chain available in a queue that lies in the client's memory. */
void rings_add(unsigned queue, const struct attacker_piece *pieces, unsigned count,
               bool is_indirect);
/* Adds to the available index. */
void rings_publish(unsigned queue, uint32_t count);
/* Writes 16 bits somewhere into the queue's parts, or into an indirect table. */
void rings_poke(unsigned queue, uint32_t where, uint32_t value);
/* Writes a whole descriptor: mostly plausible, as the operands choose. */
void rings_describe(unsigned queue, uint8_t a, uint8_t b, uint8_t c);
/* Starts again at the first descriptors. */
void rings_begin(void);

/* ---- trace.c ---- */

enum attacker_effect {
    ATTACKER_REPLACE,
    ATTACKER_XOR,
    ATTACKER_ADD,
    ATTACKER_ACT,
    ATTACKER_EFFECTS
};

/* Waits for an access of the back-end to the client's memory, or for one of its calls. */
struct attacker_snare {
    enum attacker_effect effect;
    uint32_t countdown; /* 1: the next access; 0: none */
    uint32_t every;     /* then again after so many; 0: never */
    uint32_t value;
};

#define ATTACKER_SNARES 4u

/* Work of the back-end: loads and stores. */
struct attacker_work {
    uint64_t all;
    uint64_t shared; /* of these, in the client's memory */
};

/* Begins without snares. `action`: the program's effect of ATTACKER_ACT. */
void trace_begin(void (*action)(uint32_t value));
void trace_set(const struct attacker_snare *snare);
void trace_clear(void);
/* The back-end executes from here to trace_leave(), with this work at most. */
void trace_enter(const struct attacker_work *most);
struct attacker_work trace_leave(void);
/* The back-end calls its program. */
void trace_callback(void);

#endif
