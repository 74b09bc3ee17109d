/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A partition that attacks others. With the boot argument `attack` it runs the attack of that name,
 * with the boot argument `address` if the attack takes an address. Without `attack` it reads orders
 * from the console, one per line: NAME or NAME ADDRESS, after the word `sample` if the attack is to
 * sample what the hypervisor handles alike. It prints the result of each attack.
 */
#include "kernel/application.h"
#include "kernel/console.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "rogue.h"
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 24u
#define LINE_BYTES 48u
#define SAMPLE     "sample "

bool attack_samples;

static const struct {
    const char *name;
    void (*make)(uint64_t where);
} attacks[] = {
    {"read", attack_read},
    {"write", attack_write},
    {"execute", attack_execute},
    {"pair", attack_pair},
    {"exclusive", attack_exclusive},
    {"walk", attack_walk},
    {"abort", attack_abort},
    {"distributor", attack_distributor},
    {"redistributor", attack_redistributor},
    {"sgi", attack_sgi},
    {"priority", attack_priority},
    {"end", attack_end},
    {"end-spis", attack_end_spis},
    {"shut", attack_shut},
    {"shut-a-while", attack_shut_a_while},
    {"shut-dma", attack_shut_dma},
    {"suspend", attack_suspend},
    {"ecam", attack_configuration_space},
    {"bars", attack_bars},
    {"function", attack_function},
    {"unaligned", attack_unaligned},
    {"device", attack_device},
    {"doorbells", attack_doorbells},
    {"resets", attack_resets},
    {"clean", attack_clean},
    {"zero", attack_zero},
    {"dma-none", attack_dma_none},
    {"dma-transmit", attack_dma_transmit},
    {"dma-storm", attack_dma_storm},
    {"dma-receive", attack_dma_receive},
    {"dma-descriptors", attack_dma_descriptors},
    {"dma-available", attack_dma_available},
    {"dma-used", attack_dma_used},
    {"dma-indirect", attack_dma_indirect},
    {"power", attack_power},
    {"calls", attack_calls},
    {"orders", attack_orders},
    {"channels", attack_channels},
    {"registers", attack_registers},
    {"cache", attack_cache},
    {"undefined", attack_undefined},
    {"identity", attack_identity},
    {"locks", attack_locks},
    {"mark", attack_mark},
    {"marked", attack_marked},
    {"maintenance", attack_maintenance},
    {"remap", attack_remap},
    {"spin", attack_spin},
    {"waiting", attack_waiting},
    {"storm", attack_storm},
    {"console", attack_console},
    {"terminal", attack_terminal},
};

static bool make(const char *name, uint64_t where)
{
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        if (strcmp(name, attacks[i].name) == 0) {
            print("rogue: %s\n", name);
            attacks[i].make(where);
            print("rogue: survived\n");
            return true;
        }
    }
    print("rogue: unknown attack %s\n", name);
    return false;
}

/* Reads a line without its newline, truncated to the buffer's size. */
static void read_line(char line[LINE_BYTES])
{
    size_t length = 0;
    char byte;

    while (console_read(&byte, DEADLINE_NONE) == RESULT_OK && byte != '\n') {
        if (length < LINE_BYTES - 1) {
            line[length++] = byte;
        }
    }
    line[length] = '\0';
}

int application_main(void)
{
    char line[LINE_BYTES];

    if (boot_argument("attack", line, NAME_BYTES)) {
        return make(line, boot_argument_number("address", 0, 0, UINT64_MAX)) ? 0 : 1;
    }
    print("rogue: listens\n");
    for (;;) {
        char *name = line, *space;

        read_line(line);
        attack_samples = strncmp(line, SAMPLE, strlen(SAMPLE)) == 0;
        if (attack_samples) {
            name += strlen(SAMPLE);
        }
        space = strchr(name, ' ');
        if (space != NULL) {
            *space++ = '\0';
        }
        (void)make(name, space != NULL ? strtoul(space, NULL, 0) : 0);
    }
}
