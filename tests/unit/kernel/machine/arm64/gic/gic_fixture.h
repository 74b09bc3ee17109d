/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests kernel/machine/arm64/gic against a model of the hardware (fake_gic.h): calls that must
 * succeed, and the runner. The driver's state lives as long as the machine, so each test runs in
 * its own process.
 */
#ifndef GIC_FIXTURE_H
#define GIC_FIXTURE_H

/* cmocka.h needs these headers before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/result.h"

/* Starts the interrupt controller. */
void start(void);

/* Allocates a message-signalled interrupt; returns its number. */
uint32_t allocate(uint32_t device, uint32_t event);
/* Allocates an interrupt, which must fail with `expected`. */
void refuse(uint32_t device, uint32_t event, enum result expected);

/* Checks the first three words of a command that the ITS has carried out. */
void assert_command(unsigned index, uint64_t zero, uint64_t one, uint64_t two);

/* Returns the LPI's byte in the configuration table. */
uint8_t configuration_of(uint32_t number);

/* Set-up of each test: a regular machine with the devicetree of argument 1. */
int prepare(void **state);

/* For main(): runs each test in a process of its own. Argument 1 is virt.dtb of
 * tests/unit/kernel/devicetree. Returns the exit status, the number of failed tests. */
int run_each_alone(const struct CMUnitTest *tests, unsigned number, int count, char **arguments);

#endif
