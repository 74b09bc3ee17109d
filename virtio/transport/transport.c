/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions common to all transports: status, negotiation, reset, consistent configuration reads.
 */
#include "virtio/transport.h"

/* The longest wait for a reset. Devices in software take no time, hardware takes milliseconds. */
#define RESET_NANOSECONDS UINT64_C(1000000000)

/* Attempts to read a configuration that does not change meanwhile. */
#define GENERATION_TRIES 16u

void virtio_transport_add_status(struct virtio_transport *transport, uint8_t bit)
{
    const struct virtio_transport_operations *operations = transport->operations;

    /* "The driver MUST NOT clear a device status bit" (2.1.1). The device sets NEEDS_RESET itself,
     * so the status is read first. */
    operations->set_status(transport, (uint8_t)(operations->status(transport) | bit));
}

static bool queues_disabled(struct virtio_transport *transport)
{
    for (uint16_t index = 0; index < VIRTIO_QUEUES_MAX; index++) {
        uint64_t bit = UINT64_C(1) << index;

        if ((transport->queues & bit) != 0 &&
            !transport->operations->queue_disabled(transport, index)) {
            return false;
        }
    }
    return true;
}

bool virtio_transport_reset(struct virtio_transport *transport)
{
    const struct virtio_transport_operations *operations = transport->operations;
    uint64_t started;

    operations->set_status(transport, 0);
    /* Read after the write, which sends messages with vhost-user and may take long. */
    started = virtio_platform_now();
    /* 4.1.4.3.2: after writing 0 the driver waits until the status reads 0. */
    while (operations->status(transport) != 0 || !queues_disabled(transport)) {
        if (virtio_platform_now() - started > RESET_NANOSECONDS) {
            return false;
        }
        virtio_platform_pause();
    }
    transport->queues = 0;
    return true;
}

bool virtio_transport_reset_queue(struct virtio_transport *transport, uint16_t index)
{
    const struct virtio_transport_operations *operations = transport->operations;
    uint64_t started = virtio_platform_now();

    if (operations->queue_reset == NULL) {
        return false;
    }
    /* 4.1.4.3.1, 4.2.2.1: the register reads 1 until the reset is complete, then 0, and the queue
     * is disabled. A register that does not exist reads 0 as well, but the queue stays enabled. */
    for (bool begin = true; operations->queue_reset(transport, index, begin) != 0; begin = false) {
        if (virtio_platform_now() - started > RESET_NANOSECONDS) {
            return false;
        }
        virtio_platform_pause();
    }
    return operations->queue_disabled(transport, index);
}

bool virtio_transport_begin(struct virtio_transport *transport, const char **reason)
{
    if (!virtio_transport_reset(transport)) {
        *reason = "the device does not complete a reset";
        return false;
    }
    virtio_transport_add_status(transport, VIRTIO_STATUS_ACKNOWLEDGE);
    virtio_transport_add_status(transport, VIRTIO_STATUS_DRIVER);
    return true;
}

bool virtio_transport_negotiate(struct virtio_transport *transport, uint64_t wanted,
                                uint64_t *features, const char **reason)
{
    const struct virtio_transport_operations *operations = transport->operations;
    uint64_t offered = operations->device_features(transport);
    uint64_t required = transport->legacy ? 0 : VIRTIO_F_VERSION_1;

    if ((offered & required) != required) {
        *reason = "the device does not offer VIRTIO_F_VERSION_1";
        return false;
    }
    *features = offered & (wanted | required);
    operations->set_driver_features(transport, *features);
    if (transport->legacy) { /* 3.1.2 */
        return true;
    }
    virtio_transport_add_status(transport, VIRTIO_STATUS_FEATURES_OK);
    /* 3.1.1 step 6: the device clears FEATURES_OK if it does not support this subset. */
    if ((operations->status(transport) & VIRTIO_STATUS_FEATURES_OK) == 0) {
        *reason = "the device does not accept the features chosen from its offer";
        return false;
    }
    return true;
}

static bool fields_inside(const struct virtio_transport *transport,
                          const struct virtio_config_field *fields, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if ((unsigned)fields[i].offset + fields[i].bytes > transport->config_bytes) {
            return false;
        }
    }
    return true;
}

bool virtio_transport_read_config(struct virtio_transport *transport,
                                  struct virtio_config_field *fields, unsigned count)
{
    const struct virtio_transport_operations *operations = transport->operations;

    if (!fields_inside(transport, fields, count)) {
        return false;
    }
    for (unsigned tries = 0; tries < GENERATION_TRIES; tries++) {
        uint32_t before = transport->legacy ? 0 : operations->config_generation(transport);
        bool same = tries != 0;

        for (unsigned i = 0; i < count; i++) {
            uint32_t last = fields[i].value;

            fields[i].value = operations->config_read(transport, fields[i].offset, fields[i].bytes);
            same = same && fields[i].value == last;
        }
        if (transport->legacy ? same : operations->config_generation(transport) == before) {
            return true;
        }
    }
    return false;
}
