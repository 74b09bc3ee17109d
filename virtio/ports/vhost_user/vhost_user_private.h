/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VHOST_USER_PRIVATE_H
#define VHOST_USER_PRIVATE_H

#include "protocol.h"
#include "vhost_user.h"

extern const struct virtio_transport_operations vhost_user_operations;

static inline struct vhost_user *vhost_user_of(struct virtio_transport *transport)
{
    return (struct vhost_user *)transport;
}

/* True: there is a connection, and nothing went wrong on it yet. */
static inline bool vhost_user_sound(const struct vhost_user *vhost)
{
    return vhost->channel.socket >= 0 && vhost->channel.broken == NULL;
}

static inline bool vhost_user_negotiated(const struct vhost_user *vhost, uint64_t protocol_feature)
{
    return (vhost->protocol_features & protocol_feature) != 0;
}

/* A descriptor of which vector 0 tells that it is readable; forgotten before it is closed, because
 * one that the back-end has too would go on telling. */
bool vhost_user_listen_to(const struct vhost_user *vhost, int descriptor);
void vhost_user_forget(const struct vhost_user *vhost, int descriptor);
/* Makes an eventfd unreadable again. True: it was readable. Doesn't wait, whatever the back-end,
 * which shares it, has done to its flags. */
bool vhost_user_drain(int descriptor);

/* config.c: features that belong to the configuration and that the device has. */
uint64_t vhost_user_config_features(const struct vhost_user *vhost);
/* True: the field of that feature is the back-end's. */
bool vhost_user_config_kept(const struct vhost_user *vhost, uint64_t feature);
uint32_t vhost_user_config_generation(struct virtio_transport *transport);
uint32_t vhost_user_config_read(struct virtio_transport *transport, uint16_t offset,
                                unsigned bytes);

#endif
