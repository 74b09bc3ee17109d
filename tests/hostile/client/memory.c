/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's windows. Each lies between reserved addresses, so that an access beyond it by any
 * 32-bit length ends the test. */
#include "attacker.h"
#include <string.h>
#include <sys/mman.h>

#define GUARD_BYTES  (UINT64_C(8) << 30)
#define SECOND_BYTES (ATTACKER_BYTES - ATTACKER_WINDOW_BYTES)

static struct device_memory_region regions[] = {
    {.start = ATTACKER_START, .bytes = ATTACKER_WINDOW_BYTES},
    {.start = ATTACKER_START + ATTACKER_WINDOW_BYTES, .bytes = SECOND_BYTES},
};
static const struct device_memory windows = {regions, sizeof(regions) / sizeof(regions[0])};

static void reserve(void)
{
    uint8_t *reserved = mmap(NULL, (windows.count + 1) * GUARD_BYTES, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    ATTACKER_CHECK(reserved != MAP_FAILED, "no addresses");
    /* The second window of the client's addresses is the first one here. */
    for (unsigned i = 0; i < windows.count; i++) {
        regions[i].here = reserved + (windows.count - i) * GUARD_BYTES;
        ATTACKER_CHECK(mprotect(regions[i].here, regions[i].bytes, PROT_READ | PROT_WRITE) == 0,
                       "no memory");
    }
}

const struct device_memory *memory_begin(void)
{
    if (regions[0].here == NULL) {
        reserve();
    }
    for (unsigned i = 0; i < windows.count; i++) {
        memset(regions[i].here, 0, regions[i].bytes);
    }
    return &windows;
}

/* Not device_memory_at(), which is under test. */
uint8_t *memory_at(uint64_t address, uint64_t bytes)
{
    for (unsigned i = 0; i < windows.count; i++) {
        if (address >= regions[i].start && bytes <= regions[i].bytes &&
            address - regions[i].start <= regions[i].bytes - bytes) {
            return regions[i].here + (address - regions[i].start);
        }
    }
    return NULL;
}

bool memory_contains(const void *here)
{
    for (unsigned i = 0; i < windows.count; i++) {
        if ((const uint8_t *)here >= regions[i].here &&
            (const uint8_t *)here < regions[i].here + regions[i].bytes) {
            return true;
        }
    }
    return false;
}

void memory_put16(uint64_t address, uint32_t value)
{
    const uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
    uint8_t *at = memory_at(address, sizeof(bytes));

    if (at != NULL) {
        memcpy(at, bytes, sizeof(bytes));
    }
}

void memory_put32(uint64_t address, uint32_t value)
{
    memory_put16(address, value);
    memory_put16(address + 2, value >> 16);
}
