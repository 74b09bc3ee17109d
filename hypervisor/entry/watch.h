/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watches over the hypervisor's own SPIs, in systems where each core may be shut by its guest. A
 * processor that executes the hypervisor anyway looks whether one of them stays pending on another
 * core, and then routes it to itself, or to a partition that may read the SMMU's events
 * (docs/decisions/0039).
 */
#ifndef ENTRY_WATCH_H
#define ENTRY_WATCH_H

#include "hypervisor/processor.h"

/* Looks, once in a second at most. */
void watch_look(struct processor *processor);

/* Before and after the processor waits for an interrupt, if no guest can execute on it meanwhile:
 * the wait ends after a second. */
void watch_begin_wait(const struct processor *processor);
void watch_end_wait(const struct processor *processor);

#endif
