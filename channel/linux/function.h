/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints of PCI functions. */
#ifndef LINUX_FUNCTION_H
#define LINUX_FUNCTION_H

#include "channel/linux.h"

/* Lets the function raise its next interrupt. */
void function_arm(const struct linux_endpoint *endpoint);

/* Prepares the doorbell, and tells the peer that this end is used. */
bool function_begin(const struct linux_endpoint *endpoint, char *problem);

/* Tells the peer that this end is not used any more. */
void function_end(const struct linux_endpoint *endpoint);

/* Closes what only functions have. */
void function_close(struct linux_endpoint *endpoint);

#endif
