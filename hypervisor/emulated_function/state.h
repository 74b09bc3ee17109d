/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a PCI function that exists only in software: that of a channel (channel/function.h)
 * or of a shared device (shared_device/function.h). It is on a partition's PCI host for channels.
 */
#ifndef EMULATED_FUNCTION_STATE_H
#define EMULATED_FUNCTION_STATE_H

#include <stdint.h>

struct emulated_function {
    uint32_t interrupt; /* enable bits: emulated_function/interrupt.h */
    uint32_t bar;       /* BAR 0 as the guest wrote it last; address bits only */
    uint32_t command;   /* Command as the guest wrote it last, without INTx Disable */
};

#endif
