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

/* Returns true if there is a connection and it is not broken. */
static inline bool vhost_user_sound(const struct vhost_user *vhost)
{
    return vhost->channel.socket >= 0 && vhost->channel.broken == NULL;
}

static inline bool vhost_user_negotiated(const struct vhost_user *vhost, uint64_t protocol_feature)
{
    return (vhost->protocol_features & protocol_feature) != 0;
}

/* Add a descriptor to vector 0's epoll set, so that vector 0 is readable while the descriptor is,
 * and remove it. Remove it before it is closed: a descriptor that the back-end has too would stay
 * in the set. */
bool vhost_user_listen_to(const struct vhost_user *vhost, int descriptor);
void vhost_user_forget(const struct vhost_user *vhost, int descriptor);
/* Makes an eventfd unreadable. Returns true if it was readable. Does not wait, even if the
 * back-end, which shares the eventfd, has cleared O_NONBLOCK. */
bool vhost_user_drain(int descriptor);

/* config.c: the device's features that belong to fields of the configuration. */
uint64_t vhost_user_config_features(const struct vhost_user *vhost);
/* Returns true if the back-end provides the field of that feature. */
bool vhost_user_config_kept(const struct vhost_user *vhost, uint64_t feature);
uint32_t vhost_user_config_generation(struct virtio_transport *transport);
uint32_t vhost_user_config_read(struct virtio_transport *transport, uint16_t offset,
                                unsigned bytes);

#endif
