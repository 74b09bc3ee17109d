/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Initialization of the clock of <arch/cpu.h>.
 */
#ifndef ARCH_CLOCK_H
#define ARCH_CLOCK_H

#include <arch/result.h>

/* Finds the timer in the devicetree and attaches its interrupt. Boot, once, after interrupt_init();
 * the counter and its frequency can be read before. Returns RESULT_OK, RESULT_NOT_FOUND (no timer,
 * or no interrupt of it), RESULT_INVALID (the frequency is unknown), or an error of
 * interrupt_attach(). */
enum result arch_clock_init(void);

#endif
