/* SPDX-License-Identifier: BSD-2-Clause */
/* The register accesses of virtio/platform.h, all led to two functions of a device in the test
 * process. register_access.c is linked beside whoever implements these. */
#ifndef TESTS_REGISTER_ACCESS_H
#define TESTS_REGISTER_ACCESS_H

#include "virtio/platform.h"

uint32_t register_read(virtio_register reg, unsigned bytes);
void register_write(virtio_register reg, unsigned bytes, uint32_t value);

#endif
