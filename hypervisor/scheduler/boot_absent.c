/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "hypervisor/processor.h"
#include "scheduler/scheduler.h"

void scheduler_boot(struct processor *processor)
{
    if (processor->vcpus->next != NULL) {
        boot_refuse("the image has no code for VCPUs that share a core: core", processor->index);
    }
}
