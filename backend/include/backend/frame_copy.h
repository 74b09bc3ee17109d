/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of frames that are made of views of a client's memory. Any context. */
#ifndef BACKEND_FRAME_COPY_H
#define BACKEND_FRAME_COPY_H

#include "virtio/device_net.h"
#include <stdbool.h>
#include <stdint.h>

/* Copies a frame into the first of `pieces`, which have room for it, and shortens the last one that
 * is used. Returns their number. `completes`: if the frame has checksum_partial, the copy has the
 * complete checksum. It is computed from the copy, which the client can't change. */
unsigned frame_copy(const struct device_net_frame *frame, struct device_segment *pieces,
                    bool completes);

#endif
