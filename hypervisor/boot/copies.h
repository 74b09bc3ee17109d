/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of images in a system with colours (description_has_colours()). Only the boot core calls
 * these functions. Each failure ends the boot. */
#ifndef BOOT_COPIES_H
#define BOOT_COPIES_H

#include "hypervisor/description.h"

/* Maps the hypervisor's image and the description in the boot core's tables: boot code one to one,
 * the rest to new pages of the hypervisor's pool. Returns the end of this range. Only with the MMU
 * off. */
uint64_t copies_map_own(uint64_t *root, const struct description *system);

/* Copies the image and the description to these pages. Whatever is written to static data
 * afterwards with the MMU off is lost. `root`: the boot core's tables. Only with the MMU off. */
void copies_make_own(const uint64_t *root, const struct description *system);

/* Maps a part of the image or the description in a monitor's tables, as in those that the boot core
 * uses. `bytes`: rounded up to whole pages. Only with the MMU on. */
void copies_map_in_monitor(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes);

/* Maps the pages of all copies of partitions' images in the boot core's tables. */
void copies_prepare_images(const struct description *system, uint64_t *root);

/* Copies the images of a partition. Only with the MMU on. `partition`: index. */
void copies_make_images(const struct description *system, uint32_t partition);

#endif
