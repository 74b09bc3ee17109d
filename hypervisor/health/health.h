/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Health monitoring: which action follows from an error of a partition, by the table of its
 * description, the log of its errors, and how often it may restart. This folder decides;
 * partition/life.c stops and restarts the partition.
 *
 * Images of systems without such a table have absent.c and boot_absent.c instead: each error stops
 * the partition, and nothing is recorded.
 */
#ifndef HEALTH_HEALTH_H
#define HEALTH_HEALTH_H

#include "hypervisor/vcpu.h"
#include <arch/health.h>
#include <stdbool.h>
#include <stdint.h>

/* An error, with the members of the record that the caller knows (struct health_record). */
struct health_event {
    enum health_error error; /* below HEALTH_TABLE_ERRORS */
    uint32_t source;
    uint64_t address;
    uint64_t syndrome;
    uint64_t pc;
};

/* Returns the action that the table of the VCPU's partition has for an error, counts the error, and
 * records it unless it is ignored. HEALTH_ACTION_STOP if the partition is not monitored. On the
 * VCPU's processor. */
enum health_action health_raise(const struct vcpu *vcpu, const struct health_event *event);

/* Decides whether the partition restarts after an error that says so. Returns true, and counts the
 * restart: it may begin once health_has_to_wait() returns false. Returns false if the partition has
 * used up its restarts, which is recorded. On its boot VCPU, once in each stop. */
bool health_admit_restart(const struct vcpu *vcpu);

/* Returns true if the partition's last restart has to wait. On its boot VCPU. */
bool health_has_to_wait(const struct partition *partition);

/* Begins a new account: an order, of the terminal or the manager, starts or stops the partition. A
 * restart that waits goes on. On its boot VCPU. */
void health_begin_account(struct partition *partition);

/* Returns the number of the partition's errors, those that were ignored included. 0 if it is not
 * monitored. In a monitor that maps the partition's health. */
uint64_t health_errors(const struct partition *partition);

/* Copies the first record of the partition's log whose number is `from` or larger. Returns false if
 * there is none, if other cores append records all the time, or if the partition is not monitored.
 * In a monitor that maps the partition's health. */
bool health_read(const struct partition *partition, uint64_t from, struct health_record *record);

/* Returns the number of pages that follow a partition's page for its health: 0 or 1. Boot. */
uint64_t health_pages(void);

/* Prepares the health of a partition, whose pages are zeroed. Calls boot_refuse() if the partition
 * is to be monitored and the image has no code for it. Boot. */
void health_boot(const struct partition *partition);

#endif
