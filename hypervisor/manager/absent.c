/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces manager.c and hypercall/manager.c in images without a manager. */
#include "manager/manager.h"

#include "hypercall/manager.h"
#include <arch/hypercalls.h>

/* NOLINTNEXTLINE(readability-non-const-parameter): hypercall/manager.c writes to `registers` */
int64_t manager_call(const struct vcpu *vcpu, uint64_t registers[4])
{
    (void)vcpu;
    (void)registers;
    return CALL_NOT_SUPPORTED;
}

void manager_take_order(struct vcpu *vcpu)
{
    (void)vcpu;
}

uint64_t manager_image_bytes(const struct partition *partition,
                             const struct description_image *image)
{
    (void)partition;
    return image->bytes;
}

bool manager_copies(struct partition *partition, uint64_t guest, uint64_t to,
                    struct load_progress *progress)
{
    (void)partition;
    (void)guest;
    (void)to;
    (void)progress;
    return false;
}
