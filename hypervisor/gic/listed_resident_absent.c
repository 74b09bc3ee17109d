/* SPDX-License-Identifier: BSD-2-Clause */
/* For images without listed interrupts. */
#include "gic/listed.h"

bool listed_take(struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}
