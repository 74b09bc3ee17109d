/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results of kernel calls (enum result, of <arch/result.h>), and their texts.
 */
#ifndef KERNEL_RESULT_H
#define KERNEL_RESULT_H

#include <arch/result.h>

/* A static, lower-case text for messages ("timed out"); never NULL, any value accepted. */
const char *result_text(enum result result);

#endif
