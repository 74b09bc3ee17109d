/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration (VIRTIO 1.3, 5.1.4). The back-end provides a field if it has a configuration
 * (protocol feature CONFIG) and offers the feature of the field; otherwise this port provides it.
 * The number of queue pairs always comes from GET_QUEUE_NUM.
 *
 * config_generation() reads the whole configuration, so that no field is partly old: before the
 * fields are read, and again afterwards.
 */
#include "vhost_user_private.h"
#include <string.h>

#define OFFSET_STATUS 6u
#define OFFSET_PAIRS  8u
#define OFFSET_MTU    10u

#define STATUS_LINK_UP 0x1u

static const struct {
    uint64_t feature;
    uint8_t offset;
    uint8_t bytes;
} fields[] = {
    {VIRTIO_NET_F_MAC, 0, 6},
    {VIRTIO_NET_F_STATUS, OFFSET_STATUS, 2},
    {VIRTIO_NET_F_MTU, OFFSET_MTU, 2},
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

bool vhost_user_config_kept(const struct vhost_user *vhost, uint64_t feature)
{
    return vhost_user_negotiated(vhost, PROTOCOL_F_CONFIG) && (vhost->features & feature) != 0;
}

uint64_t vhost_user_config_features(const struct vhost_user *vhost)
{
    static const uint8_t no_mac[6] = {0};
    uint64_t features = VIRTIO_NET_F_STATUS;

    if (vhost_user_config_kept(vhost, VIRTIO_NET_F_MAC) ||
        memcmp(vhost->options.mac, no_mac, sizeof(no_mac)) != 0) {
        features |= VIRTIO_NET_F_MAC;
    }
    if (vhost_user_config_kept(vhost, VIRTIO_NET_F_MTU) || vhost->options.mtu != 0) {
        features |= VIRTIO_NET_F_MTU;
    }
    return vhost->queue_count > 2 ? features | VIRTIO_NET_F_MQ : features;
}

static void put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

/* Overwrites the fields that the back-end provides. */
static void overlay_back_ends(struct vhost_user *vhost, uint8_t *config)
{
    struct vhost_user_config request = {.bytes = VHOST_USER_CONFIG_BYTES};
    struct vhost_user_config answer;

    if (!channel_ask(&vhost->channel, REQUEST_GET_CONFIG, &request, sizeof(request), &answer,
                     sizeof(answer))) {
        return;
    }
    if (answer.offset != request.offset || answer.bytes != request.bytes) {
        (void)channel_break(&vhost->channel,
                            "the back-end's answer is about another part of the configuration");
        return;
    }
    for (unsigned i = 0; i < FIELDS; i++) {
        if (vhost_user_config_kept(vhost, fields[i].feature)) {
            memcpy(config + fields[i].offset, answer.field + fields[i].offset, fields[i].bytes);
        }
    }
}

uint32_t vhost_user_config_generation(struct virtio_transport *transport)
{
    struct vhost_user *vhost = vhost_user_of(transport);
    uint8_t config[VHOST_USER_CONFIG_BYTES] = {0};

    memcpy(config, vhost->options.mac, sizeof(vhost->options.mac));
    put16(config + OFFSET_STATUS, STATUS_LINK_UP);
    put16(config + OFFSET_PAIRS, vhost->queue_count / 2);
    put16(config + OFFSET_MTU, vhost->options.mtu);
    if (vhost_user_sound(vhost) && vhost_user_negotiated(vhost, PROTOCOL_F_CONFIG)) {
        overlay_back_ends(vhost, config);
    }
    if (!vhost_user_sound(vhost)) {
        put16(config + OFFSET_STATUS, 0);
    }
    if (memcmp(config, vhost->config, sizeof(config)) != 0) {
        memcpy(vhost->config, config, sizeof(config));
        vhost->generation++;
    }
    return vhost->generation;
}

uint32_t vhost_user_config_read(struct virtio_transport *transport, uint16_t offset, unsigned bytes)
{
    const struct vhost_user *vhost = vhost_user_of(transport);
    uint32_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint32_t)vhost->config[offset + i] << (8 * i);
    }
    return value;
}
