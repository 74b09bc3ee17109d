/* SPDX-License-Identifier: BSD-2-Clause */
/* See random_seed.h. */
#include "net/random_seed.h"
#include "entropy.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "random.h"
#include <arch/cpu.h>
#include <arch/random.h>
#include <stdbool.h>
#include <stddef.h>

#define SEED_BYTES 32u

/* Seeds from "rng-seed" of the /chosen node, random bytes of the bootloader (Devicetree
 * Specification). Returns false if there are none. */
static bool seed_from_devicetree(void)
{
    static const char chosen[] = "/chosen";
    unsigned bytes = 0;
    int node = devicetree_find(chosen, sizeof(chosen) - 1);
    const void *seed = devicetree_property(node, "rng-seed", &bytes);

    if (seed == NULL || bytes < SEED_BYTES) {
        return false;
    }
    network_random_seed(seed, bytes);
    return true;
}

static bool seed_from_processor(void)
{
    uint64_t seed[SEED_BYTES / sizeof(uint64_t)];

    for (unsigned i = 0; i < SEED_BYTES / sizeof(uint64_t); i++) {
        if (!arch_random(&seed[i])) {
            return false;
        }
    }
    network_random_seed(seed, sizeof(seed));
    return true;
}

static bool seed_from_device(void)
{
    uint8_t seed[SEED_BYTES];

    if (!virtio_read_entropy(seed, sizeof(seed))) {
        return false;
    }
    network_random_seed(seed, sizeof(seed));
    return true;
}

/* Returns the sources that were used, as text; NULL if there is none. */
static const char *seed_from_all(void)
{
    bool devicetree = seed_from_devicetree();
    bool processor = seed_from_processor();

    if (devicetree && processor) {
        return "the processor and the devicetree's seed";
    }
    if (devicetree) {
        return "the devicetree's seed";
    }
    if (processor) {
        return "the processor";
    }
    return seed_from_device() ? "a virtio entropy device" : NULL;
}

void random_seed_collect(void)
{
    uint64_t ticks = arch_clock_ticks();
    const char *sources = seed_from_all();

    network_random_seed(&ticks, sizeof(ticks));
    if (sources != NULL) {
        print("net: random numbers from %s\n", sources);
    } else {
        print("net: no source of random numbers: TCP sequence numbers and ports can be guessed\n");
    }
}
