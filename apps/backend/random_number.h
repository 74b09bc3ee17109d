/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BACKEND_RANDOM_NUMBER_H
#define BACKEND_RANDOM_NUMBER_H

#include <stdint.h>

/* Returns a number that clients can't guess, if the processor has such ones. If not, one made of
 * the time. */
uint64_t random_number(void);

#endif
