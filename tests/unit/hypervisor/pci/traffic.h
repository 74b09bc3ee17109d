/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes honest or malicious functions from the first bytes, and accesses of a guest and events of
 * the hardware from the others. Ends the program if a rule is broken: a rule of fake_functions.c,
 * or that a guest reads back what it wrote to BARs and reads all ones from functions of others.
 */
void traffic_run(const uint8_t *data, size_t bytes);

#endif
