/* SPDX-License-Identifier: BSD-2-Clause */
/* The boot's side of what partitions share, for tests: three partitions, a pool of pages for
 * tables, memory behind it for the shared region, and a record of the last calls. */
#ifndef BOOT_FIXTURE_H
#define BOOT_FIXTURE_H

#include "boot/boot.h"
#include "hypervisor/partition.h"
#include <setjmp.h>
#include <stdint.h>

#define BOOT_PARTITIONS 3u
/* Content of the memory at the start of a test. */
#define BOOT_UNTOUCHED 0xa5u
/* Attributes of a page that is not mapped. */
#define UNMAPPED UINT64_MAX

struct boot_fixture {
    struct description description;
    struct partition partitions[BOOT_PARTITIONS];
    uint64_t physical; /* of the region */
    uint64_t probed;   /* of device_read32() */
    uint64_t cleaned;  /* of load_clean() */
    uint64_t cleaned_end;
    uint64_t mapped; /* of boot_map() */
    uint64_t mapped_bytes;
    unsigned mappings;
    const char *problem; /* what the check of the description returns, with the number 5 */
    jmp_buf refused;     /* boot_refuse() returns here */
    void *memory;        /* private, as below */
};

extern struct boot_fixture fixture;

/* Allocates memory for a region of so many bytes, and a page behind it, and clears all else. */
void boot_fixture_begin(uint64_t region_bytes);
void boot_fixture_end(void);
/* Returns the result of the check. */
const char *boot_fixture_check(const struct description *system, uint64_t *value);
/* Returns an empty table. */
uint64_t *boot_fixture_root(void);

#endif
