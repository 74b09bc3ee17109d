/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes functions as the first bytes say, honest or not, and then what a guest and the hardware may
 * do as the others say. Ends the program if a rule is broken: those of fake_functions.c, or that a
 * guest reads what it wrote to BARs and what is not its own as ones.
 */
void traffic_run(const uint8_t *data, size_t bytes);

#endif
