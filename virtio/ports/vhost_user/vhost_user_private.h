/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VHOST_USER_PRIVATE_H
#define VHOST_USER_PRIVATE_H

#include "protocol.h"
#include "vhost_user.h"

extern const struct virtio_transport_operations vhost_user_operations;

/* True: there is a connection, and nothing went wrong on it yet. */
static inline bool vhost_user_sound(const struct vhost_user *vhost)
{
    return vhost->channel.socket >= 0 && vhost->channel.broken == NULL;
}

static inline bool vhost_user_negotiated(const struct vhost_user *vhost, uint64_t protocol_feature)
{
    return (vhost->protocol_features & protocol_feature) != 0;
}

#endif
