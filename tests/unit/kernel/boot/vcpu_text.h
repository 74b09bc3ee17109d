/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that hold for any text that the parser of kernel/boot/vcpu_arguments.h reads. */
#ifndef VCPU_TEXT_H
#define VCPU_TEXT_H

#include "boot/vcpu_arguments.h"
#include <stdbool.h>
#include <stddef.h>

/* Parses the text, and ends the process with a message if the result breaks a rule. Returns what
 * the parser returns. */
bool vcpu_text_check(const char *text);

/* Writes the VCPUs as a text of at most `capacity` bytes. */
void vcpu_text_write(const struct vcpu_arguments *arguments, char *text, size_t capacity);

#endif
