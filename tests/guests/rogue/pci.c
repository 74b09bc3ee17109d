/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks on configuration space of others, and with BARs placed over others' addresses. */
#include "kernel/pci.h"
#include "kernel/print.h"
#include "rogue.h"
#include <arch/device_access.h>

#define FUNCTIONS    256u   /* per bus */
#define HEADER_BYTES 0x100u /* PCI 3.0, 6.1: the space before the extended configuration space */
#define COMMAND      0x04u
#define COMMAND_ALL  0x7u
#define BAR_FIRST    0x10u
#define BARS         6u

/* Absent functions are alike: a sample has all words of the first ones, and of the others these. */
#define SAMPLED_FUNCTIONS 8u
#define SAMPLED_WORDS     0x40u

/* Writes every word, or one each `step` bytes; the first 256 bytes also in every width. */
static void scribble_function(uintptr_t at, uint32_t step)
{
    for (uint32_t offset = 0; offset < PAGE; offset += step) {
        uint32_t value = (uint32_t)random_next();

        device_write32(at + offset, value);
        if (offset >= HEADER_BYTES) {
            continue;
        }
        device_write32(at + offset, UINT32_MAX);
        device_write32(at + offset, 0);
        (void)device_read32(at + offset);
        device_write16(at + offset + (value & 2), (uint16_t)(value >> 8));
        (void)device_read16(at + offset + (value & 2));
        device_write8(at + offset + (value & 3), (uint8_t)(value >> 16));
        (void)device_read8(at + offset + (value & 3));
    }
}

void attack_configuration_space(uint64_t where)
{
    uintptr_t ecam = reach(BOARD_ECAM + where * FUNCTIONS * PAGE, FUNCTIONS * PAGE);
    unsigned present = 0;

    for (uint32_t function = 0; function < FUNCTIONS; function++) {
        uintptr_t at = ecam + function * PAGE;
        bool is_present = device_read32(at) != UINT32_MAX;
        bool is_sampled = attack_samples && !is_present && function >= SAMPLED_FUNCTIONS;

        present += is_present ? 1 : 0;
        scribble_function(at, is_sampled ? SAMPLED_WORDS : sizeof(uint32_t));
    }
    print("%u functions answered\n", present);
}

/* Writes all BARs while decoding is disabled, then while it is enabled, then byte by byte. */
void attack_bars(uint64_t where)
{
    const struct pci_function *function = pci_first();

    while (function != NULL && function->bar[0].bytes == 0 && function->bar[1].bytes == 0 &&
           function->bar[4].bytes == 0) {
        function = function->next;
    }
    if (function == NULL) {
        print("FAIL: rogue: no function\n");
        return;
    }
    for (unsigned round = 0; round < 3; round++) {
        pci_config_write(function, COMMAND, 2, round == 0 ? 0 : COMMAND_ALL);
        for (uint16_t bar = 0; bar < BARS; bar++) {
            uint16_t at = (uint16_t)(BAR_FIRST + 4 * bar);
            bool upper = bar % 2 != 0 && function->bar[bar - 1].wide;
            uint32_t value = (uint32_t)(upper ? where >> 32 : where);

            if (round < 2) {
                pci_config_write(function, at, 4, value);
            } else {
                for (uint16_t byte = 0; byte < 4; byte++) {
                    pci_config_write(function, at + byte, 1, value >> (8 * byte));
                }
            }
        }
        pci_config_write(function, COMMAND, 2, COMMAND_ALL);
    }
}
