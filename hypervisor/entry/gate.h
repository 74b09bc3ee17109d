/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gate between the boot and the first guest: no guest starts before the monitors of all cores
 * have come. So a core that does not start leaves no half of a system behind.
 */
#ifndef ENTRY_GATE_H
#define ENTRY_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Closes the gate until the cores have come. `cores`: bit i for the core with index i in the
 * description, at least one. Boot core, before it starts others. */
void gate_close(uint32_t cores);

/* Waits until no other cores than `others` are missing. Returns true, or false if that takes longer
 * than ten seconds: then the gate stays shut for ever, and *missing is the index of a core that has
 * not come. Boot core. */
bool gate_wait(uint32_t others, uint32_t *missing);

/* Reports that the core has come, and waits for all others. `core`: its index. On the service
 * tables. */
void gate_pass(uint32_t core);

#endif
