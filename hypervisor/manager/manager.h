/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The manager: a partition that creates, starts, stops, replaces and destroys the others. Its
 * monitor writes orders to a page that all other monitors map read-only, and recalls the boot core
 * of the partition that gets an order. The monitor of that core carries the order out, and writes
 * the answer to its own partition's page, which the manager's monitors map read-only. Neither
 * monitor waits for the other.
 *
 * Images without a manager have absent.c and boot_absent.c instead, whose functions have no effect.
 */
#ifndef MANAGER_MANAGER_H
#define MANAGER_MANAGER_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Makes the page of orders, and sets which partitions exist. Calls boot_refuse() if the description
 * of the manager is invalid. `partitions`: by index. Boot, after all partitions were made. */
void manager_boot(const struct description *system, struct partition *const *partitions);

/* Maps in the tables at `root` what a monitor of the partition accesses for the manager: orders,
 * answers, staged images. Boot. */
void manager_map(uint64_t *root, const struct partition *partition);

/* Carries out a new order for the partition of a boot VCPU. On the VCPU's processor. */
void manager_take_order(struct vcpu *vcpu);

/* Returns the number of bytes that loading an image of the description writes: 0 if none is copied
 * because the partition is destroyed or not created, or the size of the staged image that is copied
 * in its place. Does not change while the partition starts. On the boot VCPU of the partition. */
uint64_t manager_image_bytes(const struct partition *partition,
                             const struct description_image *image);

/* Carries out the next step of loading an image, if the manager has changed which image is loaded.
 * A staged image is copied in place of the description's image, and cleaned. For a partition that
 * is destroyed or not created, no image is copied, and the start ends. Returns false if the
 * description's image has to be copied. `guest`: guest address of the image; `to`: its physical
 * address. On the boot VCPU of the partition. */
bool manager_copies(struct partition *partition, uint64_t guest, uint64_t to,
                    struct load_progress *progress);

#endif
