/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of an image before it replaces a partition's image. The manager may change the image at
 * any time meanwhile. */
#ifndef MANAGER_IMAGE_H
#define MANAGER_IMAGE_H

#include "manager/order.h"
#include <stdint.h>

/* Returns the number of bytes from the partition's entry to its next image, or to the end of the
 * memory. */
uint64_t image_room(const struct description_partition *described);

/* Checks the header of an arm64 Image (Linux, Documentation/arch/arm64/booting). `image`: aligned
 * to 8 bytes. `bytes`: size of the image in staging. Returns MANAGER_DONE, MANAGER_BAD_IMAGE or
 * MANAGER_TOO_LARGE. */
enum manager_result image_check_header(const void *image, uint64_t bytes,
                                       const struct description_partition *described);

#endif
