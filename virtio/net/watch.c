/* SPDX-License-Identifier: BSD-2-Clause */
/* Watches for failures of the device that cause no interrupt. */
#include "net_private.h"

void virtio_net_watch(struct virtio_net *net)
{
    const char *trouble;
    virtio_lock_state state;

    if (net->state != NET_RUNNING) {
        return;
    }
    /* Without the lock, because a transport may need time to read the status (vhost-user). */
    trouble = net_status_failure(net);
    state = virtio_platform_lock();
    if (trouble != NULL && net->state == NET_RUNNING) {
        net_stop_broken(net, trouble);
    }
    net_unlock(net, state);
}
