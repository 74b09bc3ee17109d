/* SPDX-License-Identifier: BSD-2-Clause */
/* The network device as a whole: features, start, and the status of its configuration. */
#include "net_frame.h"
#include <string.h>

/* `feature` is accepted only with `need` (5.1.3.1). */
static const struct {
    uint64_t feature;
    uint64_t need;
    const char *reason;
} dependencies[] = {
    {VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_GUEST_CSUM, "GUEST_TSO4 without GUEST_CSUM"},
    {VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_GUEST_CSUM, "GUEST_TSO6 without GUEST_CSUM"},
    {VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_CSUM, "HOST_TSO4 without CSUM"},
    {VIRTIO_NET_F_HOST_TSO6, VIRTIO_NET_F_CSUM, "HOST_TSO6 without CSUM"},
    {VIRTIO_NET_F_CTRL_RX, VIRTIO_NET_F_CTRL_VQ, "CTRL_RX without CTRL_VQ"},
    {VIRTIO_NET_F_GUEST_ANNOUNCE, VIRTIO_NET_F_CTRL_VQ, "GUEST_ANNOUNCE without CTRL_VQ"},
};

const char *device_net_check_features(uint64_t offered, uint64_t accepted)
{
    if ((accepted & ~(offered & DEVICE_NET_FEATURES)) != 0) { /* 2.2.1 */
        return "a feature that was not offered";
    }
    if ((accepted & VIRTIO_F_VERSION_1) == 0) { /* 6.2 */
        return "a driver without VERSION_1";
    }
    for (unsigned i = 0; i < sizeof(dependencies) / sizeof(dependencies[0]); i++) {
        if ((accepted & dependencies[i].feature) != 0 && (accepted & dependencies[i].need) == 0) {
            return dependencies[i].reason;
        }
    }
    return NULL;
}

const char *device_net_start(struct device_net *net, const struct device_memory *memory,
                             const struct device_net_setup *setup, bool resumed)
{
    struct device_queue *const queues[] = {&net->receive, &net->transmit, &net->control};
    const char *reason = NULL;

    memset(&net->statistics, 0, sizeof(net->statistics));
    memset(&net->filter, 0, sizeof(net->filter));
    /* Until the driver says otherwise all frames pass, because a driver that has set its filters
     * before this life does not set them again. */
    net->filter.modes[PROMISCUOUS] = true;
    net->features = setup->features;
    net->mtu = (setup->features & VIRTIO_NET_F_MTU) != 0 ? setup->mtu : UINT16_MAX;
    net->status = setup->status;
    memcpy(net->mac, setup->mac, sizeof(net->mac));
    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        struct device_queue_setup queue = setup->queues[i];
        const char *unusable;

        queue.features = setup->features;
        unusable = device_queue_start(queues[i], memory, &queue, resumed);
        if (unusable != NULL && queue.size != 0 && reason == NULL) {
            reason = unusable;
        }
    }
    return reason;
}

uint16_t device_net_status(const struct device_net *net)
{
    return net->status;
}

static bool change_status(struct device_net *net, uint16_t status)
{
    bool is_changed = status != net->status;

    net->status = status;
    return is_changed;
}

bool device_net_set_link(struct device_net *net, bool is_up)
{
    return change_status(net, (uint16_t)(is_up ? net->status | DEVICE_NET_LINK_UP
                                               : net->status & ~DEVICE_NET_LINK_UP));
}

bool device_net_announce(struct device_net *net)
{
    return device_net_accepted(net, VIRTIO_NET_F_GUEST_ANNOUNCE) &&
           change_status(net, net->status | DEVICE_NET_ANNOUNCE);
}
