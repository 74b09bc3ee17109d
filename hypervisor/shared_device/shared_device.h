/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared devices: a partition, the client, has the registers of a virtio device, and another one,
 * the back-end, serves its queues (docs/decisions/0089). The accesses of the client's driver trap
 * (access.c), the back-end makes calls (hypercall/shared_device.h), and the lives of both change
 * the device (lives.c). The hypervisor accesses no ring and no buffer.
 *
 * Images without channels have absent.c and boot_absent.c instead, whose functions have no effect.
 */
#ifndef SHARED_DEVICE_SHARED_DEVICE_H
#define SHARED_DEVICE_SHARED_DEVICE_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"
#include "hypervisor/step.h"

/* Validates the description of all shared devices, checks that the board has their memory, and maps
 * it in the boot core's tables. Calls boot_refuse() on failure. After channel_prepare(). `root`: of
 * the boot core's tables. Boot, MMU off. */
void shared_device_prepare(const struct description *system, uint64_t *root);

/* Maps in the partition's stage 2 the pages of the devices of which it is the back-end, read-only,
 * and the windows of their clients. Initialises the devices of which it is the client. `stage2`:
 * root of its stage 2. Boot, MMU on. */
void shared_device_connect(const struct partition *partition, uint64_t *stage2);

/* Maps both pages of the partition's devices in the tables of one of its monitors, at `root`.
 * Boot. */
void shared_device_map(uint64_t *root, const struct partition *partition);

/* Handles an access to the registers of a device of which the partition is the client. `address`:
 * guest address. Returns false if no such device has the address. Otherwise sets *result and
 * returns true. The result is ACCESS_AGAIN if the access stops queues that the back-end may still
 * serve: the guest repeats it until the back-end has stopped, on its own time, and takes its
 * interrupts meanwhile. Any core of the partition. */
bool shared_device_trap(const struct partition *partition, uint64_t address, struct access *access,
                        enum access_result *result);

/* Takes the next step of ending the partition's use of its shared devices, one device. First those
 * of which it is the client are reset, and their back-ends are told to stop; those of which it is
 * the back-end are not served any more. Then waits for the back-ends. `is_isolated`: the
 * partition's DMA is blocked; otherwise its devices may still act as a back-end. `*index`: 0 before
 * the first step. Returns STEP_PENDING, then STEP_DONE once no back-end serves a queue of the
 * partition. The caller limits the time. Called after all VCPUs of the partition have stopped, on
 * its boot VCPU. */
enum step_outcome shared_device_end(const struct partition *partition, bool is_isolated,
                                    uint32_t *index);

/* Takes the next step for a partition that stays stopped, one device: the clients of its network
 * devices see that the link is down. `*index`: 0 before the first step. Returns STEP_PENDING, then
 * STEP_DONE. On its boot VCPU. */
enum step_outcome shared_device_end_link(const struct partition *partition, uint32_t *index);

#endif
