/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The manager: a partition that creates, starts, stops, replaces and destroys the others. Its
 * monitor writes orders to a page that all other monitors map read-only, and sends a message to the
 * boot core of the partition that an order is for. The monitor there carries the order out, and
 * answers in its own partition's page, which the manager's monitors map read-only. Neither waits
 * for the other.
 *
 * Images without a manager have absent.c and boot_absent.c, whose functions have no effect.
 */
#ifndef MANAGER_MANAGER_H
#define MANAGER_MANAGER_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Makes the page of orders. Boot, after all partitions were made. */
void manager_boot(const struct description *system, struct partition *const *partitions);

/* Adds what the monitors of the partition need: orders, answers, staged images. Boot. */
void manager_map(uint64_t *root, const struct partition *partition);

/* Takes the orders for partitions that have their boot VCPU here. `vcpus`: those of this
 * processor. */
void manager_take_orders(struct vcpu *vcpus);

/* Takes the next step of copying an image, if the manager decides about it: a staged image replaces
 * that of the description; of a partition that is not created none is copied, and it is stopped.
 * Returns false if the image of the description is to be copied. `guest`: where the image begins;
 * `to`: the physical address of it. */
bool manager_copies(struct partition *partition, uint64_t guest, uint64_t to,
                    struct load_progress *progress);

#endif
