/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy/sources.h"

#include "console/terminal.h"
#include "entropy/firmware_trng.h"
#include "entropy/generator.h"
#include "entropy/loader_tree.h"
#include "hypervisor/registers.h"
#include "partition/load.h"
#include "vcpu/controls.h"
#include "vcpu/features.h"
#include <arch/device_access.h>

#define TREE_ALIGNMENT 8u                 /* Linux: Documentation/arch/arm64/booting */
#define TREE_BYTES_MAX UINT64_C(0x200000) /* the same */

/* The processor returns a number at least this often (Arm ARM, RNDR: "within a reasonable period of
 * time" is all that it promises). */
#define RNDR_TRIES 1000u
#define RNDR_BITS  64u

/* The least entropy for which nobody can guess the key. A `kaslr-seed` of 64 bits is too little. */
#define SEEDED_BITS 128u

/* Words of the loader's seeds that are used. Those behind them are overwritten only. */
#define LOADER_WORDS (4 * GENERATOR_WORDS)

static struct generator collected;
static uint32_t loader_words[LOADER_WORDS];
static uint32_t loader_count; /* of them that are filled */

/* Keeps a seed of the loader, and overwrites it where the loader has put it. */
static void take_seed(const struct loader_seed *seed)
{
    for (uint32_t i = 0; i < (seed->bytes + 3) / 4; i++) {
        uintptr_t address = seed->address + UINT64_C(4) * i;

        if (loader_count < LOADER_WORDS) {
            loader_words[loader_count++] = device_read32(address);
        }
        device_write32(address, 0);
    }
}

void sources_read_loader_tree(const struct description_board *board, uint64_t devicetree)
{
    uint64_t room = board->memory + board->memory_bytes - devicetree, bytes;
    struct loader_seed seeds[LOADER_SEEDS_MAX];

    if (devicetree - board->memory >= board->memory_bytes || devicetree % TREE_ALIGNMENT != 0 ||
        room < LOADER_TREE_HEADER) {
        return;
    }
    /* The loader's data may be in the cache, which is off. */
    load_clean(devicetree, devicetree + LOADER_TREE_HEADER);
    bytes = loader_tree_bytes(devicetree, room < TREE_BYTES_MAX ? room : TREE_BYTES_MAX);
    if (bytes == 0) {
        return;
    }
    load_clean(devicetree, devicetree + bytes);
    for (unsigned count = loader_tree_seeds(devicetree, bytes, seeds); count != 0; count--) {
        take_seed(&seeds[count - 1]);
    }
}

static void mix(uint32_t input[GENERATOR_WORDS])
{
    generator_mix(&collected, input);
    generator_wipe(input, GENERATOR_WORDS);
}

/* Mixes the seeds of the loader. Returns the number of their bits. */
static uint32_t collect_from_loader(void)
{
    for (uint32_t i = 0; i < LOADER_WORDS; i += GENERATOR_WORDS) {
        mix(&loader_words[i]);
    }
    return 32 * loader_count;
}

/* Does the same with bits of the firmware's TRNG. */
static uint32_t collect_from_firmware(void)
{
    uint32_t input[GENERATOR_WORDS] = {0};
    uint32_t bits = firmware_trng_read(input);

    mix(input);
    return bits;
}

/* Reads RNDR. Returns false if the processor has no number now (Arm ARM, RNDR: PSTATE.Z is set). */
static bool read_processor(uint64_t *value)
{
    uint64_t number, is_valid;

    __asm__ volatile("mrs %0, " REGISTER_TEXT(RNDR) "\n\tcset %1, ne"
                     : "=r"(number), "=r"(is_valid)
                     :
                     : "cc");
    *value = number;
    return is_valid != 0;
}

/* Does the same with bits of RNDR. */
static uint32_t collect_from_processor(void)
{
    uint32_t input[GENERATOR_WORDS] = {0};
    uint32_t bits = 0;

    if (ID_FIELD(register_read(id_aa64isar0_el1), ISAR0_RNDR) == 0) {
        return 0;
    }
    for (unsigned tries = 0; bits < 32 * GENERATOR_WORDS && tries < RNDR_TRIES; tries++) {
        uint64_t value;

        if (read_processor(&value)) {
            input[bits / 32] = (uint32_t)value;
            input[bits / 32 + 1] = (uint32_t)(value >> 32);
            bits += RNDR_BITS;
        }
    }
    mix(input);
    return bits;
}

void sources_collect(void)
{
    uint32_t loader = collect_from_loader(), firmware = collect_from_firmware(),
             processor = collect_from_processor();

    collected.is_seeded = loader + firmware + processor >= SEEDED_BITS;
    if (!collected.is_seeded) {
        terminal_print("guests get no random numbers, for which %u bits are needed: the loader's "
                       "devicetree has %u, the firmware's TRNG %u, the processor's RNDR %u",
                       SEEDED_BITS, loader, firmware, processor);
    }
}

void sources_derive(struct generator *generator)
{
    generator_derive(&collected, generator);
}

void sources_wipe(void)
{
    generator_wipe(collected.key, GENERATOR_WORDS);
    generator_wipe(loader_words, LOADER_WORDS);
}
