/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entropy device (VIRTIO 1.3, 5.4): random bytes, read once when a system starts.
 */
#ifndef VIRTIO_ENTROPY_H
#define VIRTIO_ENTROPY_H

#include "virtio/transport.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * Starts the device, reads `bytes` random bytes (> 0) into `data`, and resets the device. Polls the
 * queue, and asks the device not to interrupt. Waits for the bytes until `deadline`, in nanoseconds
 * of virtio_platform_now(). Returns false, with a static text in *reason, if the device is not an
 * entropy device, cannot be driven or does not deliver in time; `data` is then undefined. If the
 * device does not confirm the reset, the memory shared with it is not freed (2.4.1). Thread
 * context.
 */
bool virtio_entropy_read(struct virtio_transport *transport, void *data, size_t bytes,
                         uint64_t deadline, const char **reason);

#endif
