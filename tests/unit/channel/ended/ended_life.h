/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends the life of a side before one of its stores. The test sets `stores_left`, and calls
 * setjmp(life_end) before the side executes. Include it in one file of a program. */
#ifndef ENDED_LIFE_H
#define ENDED_LIFE_H

#include "channel/words.h"
#include <setjmp.h>
#include <stdint.h>

#define ENDLESS UINT64_MAX

static jmp_buf life_end;
static uint64_t stores_left = ENDLESS; /* number of stores before the end of the life */

void before_store(void)
{
    if (stores_left == 0) {
        stores_left = ENDLESS;
        longjmp(life_end, 1);
    }
    stores_left -= stores_left != ENDLESS;
}

#endif
