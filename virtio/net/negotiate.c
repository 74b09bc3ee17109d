/* SPDX-License-Identifier: BSD-2-Clause */
/* Negotiates features (VIRTIO 1.3, 3.1.1 steps 4 to 6) and reads the device's configuration
 * (5.1.4). */
#include "net_private.h"
#include <string.h>

#define MTU_MIN 68u /* 5.1.4.1 */

#define FEATURES_CONTROL                                                          \
    (VIRTIO_NET_F_CTRL_RX | VIRTIO_NET_F_CTRL_VLAN | VIRTIO_NET_F_CTRL_RX_EXTRA | \
     VIRTIO_NET_F_GUEST_ANNOUNCE | VIRTIO_NET_F_MQ | VIRTIO_NET_F_CTRL_MAC_ADDR)

/*
 * Features that the driver supports. ACCESS_PLATFORM (6) requires that every address given to the
 * device comes from the platform: from virtio_platform_dma_address() or _allocate().
 */
#define FEATURES_KNOWN                                                                             \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_ACCESS_PLATFORM | \
     VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER | VIRTIO_F_ORDER_PLATFORM | VIRTIO_NET_F_MAC |       \
     VIRTIO_NET_F_MTU | VIRTIO_NET_F_STATUS | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM |        \
     VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_GUEST_TSO4 |                   \
     VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_MRG_RXBUF | FEATURES_CONTROL | VIRTIO_NET_F_CTRL_VQ |  \
     VIRTIO_F_RING_RESET | VIRTIO_NET_F_SPEED_DUPLEX)

/* Features that a driver that polls refuses. It moves frames of one descriptor only. With
 * GUEST_CSUM the device may deliver frames with incomplete checksums (5.1.6.4.1), and
 * virtio_net_transmit_burst() would forward them with a header of zeros. (EVENT_IDX is accepted.
 * Without it each publication would read the used ring's flags, whose cache line the device writes
 * together with the used index.) */
#define FEATURES_NOT_POLLING \
    (VIRTIO_F_INDIRECT_DESC | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_MRG_RXBUF)

static bool read16(const struct virtio_net *net, uint16_t offset, uint32_t *value)
{
    struct virtio_config_field field = {.offset = offset, .bytes = 2};
    bool read = virtio_transport_read_config(net->transport, &field, 1);

    *value = field.value;
    return read;
}

/* Returns true if one receive buffer holds frames of that MTU. */
static bool fits_one_buffer(const struct virtio_net *net, uint32_t mtu)
{
    return mtu + ETHERNET_HEADER_BYTES + VIRTIO_NET_HEADER_BYTES <= net->parameters.receive_bytes;
}

/* Returns true if receive buffers hold frames of that MTU, which a driver that accepts
 * VIRTIO_NET_F_MTU must supply (5.1.4.2). With MRG_RXBUF they hold those of every MTU: see
 * hold_large_frames(). */
static bool mtu_fits(const struct virtio_net *net, uint32_t mtu, uint64_t features)
{
    return mtu >= MTU_MIN &&
           (fits_one_buffer(net, mtu) || (features & VIRTIO_NET_F_MRG_RXBUF) != 0);
}

/* `features` are accepted only with all of `need` (5.1.3.1, 3.1.1). Large frames need MRG_RXBUF by
 * the driver's choice: 5.1.6.3.1 would also allow large buffers. */
static const struct {
    uint64_t features;
    uint64_t need;
} dependencies[] = {
    {VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6, VIRTIO_NET_F_CSUM},
    {VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6,
     VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_MRG_RXBUF},
    {FEATURES_CONTROL, VIRTIO_NET_F_CTRL_VQ},
    {VIRTIO_NET_F_GUEST_ANNOUNCE, VIRTIO_NET_F_STATUS},
};

/* Returns true if the device's number of pairs can be used: more than one is wanted and offered,
 * and the control queue, which is numbered after them (5.1.2), is below VIRTIO_QUEUES_MAX. */
static bool pairs_fit(const struct virtio_net *net, uint32_t pairs)
{
    return net->device->room > 1 && pairs > 1 && pairs <= VIRTIO_NET_PAIRS_MAX;
}

/* Returns true if the header must have a descriptor of its own: without VERSION_1, unless the
 * device accepts any layout (2.7.4.3). */
static bool is_header_alone(uint64_t features)
{
    return (features & (VIRTIO_F_VERSION_1 | VIRTIO_F_ANY_LAYOUT)) == 0;
}

/* Returns `buffers`, or the number of receive buffers that the ring has room for if that is less.
 * `header_alone`: a buffer takes two entries of the ring. */
static uint16_t buffers_in_ring(struct virtio_net *net, uint16_t buffers, bool header_alone)
{
    unsigned entries = header_alone ? 2 : 1;
    uint16_t limit = net->transport->operations->queue_size_max(net->transport, 0);
    uint16_t wanted = net_at_most(net->parameters.rx_buffers_max * entries, UINT16_MAX);
    unsigned size = net->transport->queue_size_fixed ? limit : net_ring_size(wanted, limit);

    return net_at_most(buffers, size / entries);
}

/* Returns true if so many exposed buffers amount to VIRTIO_NET_LARGE_RECEIVE_BYTES. */
static bool hold_large_frames(const struct virtio_net *net, uint16_t buffers)
{
    return (uint64_t)buffers * net->parameters.receive_bytes >= VIRTIO_NET_LARGE_RECEIVE_BYTES;
}

/*
 * If frames of the device's MTU fill several buffers, and the owner uses such an MTU: raises the
 * number of exposed buffers, within the owner's limit, so that MRG_RXBUF can be accepted. It is
 * raised for the largest frame, not for the MTU, because devices also pass on frames that are
 * larger than their MTU: QEMU then waits for more buffers, and passes on no other frame meanwhile.
 */
static void provide_for_mtu(struct virtio_net *net, uint32_t mtu, bool header_alone)
{
    struct virtio_net_parameters *parameters = &net->parameters;
    uint16_t most = buffers_in_ring(net, parameters->rx_buffers_max, header_alone);

    if (fits_one_buffer(net, mtu) || fits_one_buffer(net, parameters->mtu_max) ||
        !hold_large_frames(net, most)) {
        return;
    }
    while (!hold_large_frames(net, parameters->rx_buffers)) {
        parameters->rx_buffers++;
    }
}

/* Returns those of `features` that are not accepted because of the device's MTU and the receive
 * buffers. */
static uint64_t refused_for_buffers(struct virtio_net *net, uint64_t features)
{
    bool header_alone = is_header_alone(features);
    struct net_device *device = net->device;
    uint64_t refused = 0;
    uint32_t mtu = 0;

    /* Reading fields before the decision is allowed (3.1.1 step 4). */
    if ((features & VIRTIO_NET_F_MTU) != 0 && !read16(net, CONFIG_MTU, &mtu)) {
        device->mtu_unused = "it cannot be read";
        mtu = 0;
    }
    if ((features & VIRTIO_NET_F_MRG_RXBUF) != 0) {
        provide_for_mtu(net, mtu, header_alone);
        if (!hold_large_frames(net,
                               buffers_in_ring(net, net->parameters.rx_buffers, header_alone))) {
            refused |= VIRTIO_NET_F_MRG_RXBUF;
        }
    }
    if ((features & VIRTIO_NET_F_MTU) != 0 && !mtu_fits(net, mtu, features & ~refused)) {
        refused |= VIRTIO_NET_F_MTU;
        if (device->mtu_unused == NULL) {
            device->mtu_unused = mtu < MTU_MIN ? "VIRTIO allows none below 68"
                                               : "its frames do not fit into the receive buffers";
        }
    }
    device->mtu_offered = (uint16_t)mtu;
    return refused;
}

/* 5.1.6: the header contains num_buffers with VERSION_1 or MRG_RXBUF. */
static void choose_header(struct virtio_net *net)
{
    if ((net->features & (VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF)) == 0) {
        net->header_bytes = offsetof(struct net_header, buffers);
    } else {
        net->header_bytes = sizeof(struct net_header);
    }
    net->header_alone = is_header_alone(net->features);
}

bool net_negotiate(struct virtio_net *net, const char **reason)
{
    uint64_t offered = net->transport->operations->device_features(net->transport);
    uint64_t known =
        net->parameters.polling ? FEATURES_KNOWN & ~FEATURES_NOT_POLLING : FEATURES_KNOWN;
    uint64_t wanted = (known | (net->transport->legacy ? VIRTIO_F_ANY_LAYOUT : 0)) &
                      ~net->parameters.features_off;
    uint64_t independent = net->transport->enabled_queues_used ? VIRTIO_NET_F_MQ : 0;
    uint32_t value;

    wanted &= net->bounces ? ~net_bounce_refused(net) : ~UINT64_C(0);
    wanted &= ~refused_for_buffers(net, wanted & offered);
    if ((wanted & offered & VIRTIO_NET_F_MQ) != 0 &&
        (!read16(net, CONFIG_PAIRS, &value) || !pairs_fit(net, value))) {
        wanted &= ~VIRTIO_NET_F_MQ;
    }
    for (unsigned i = 0; i < sizeof(dependencies) / sizeof(dependencies[0]); i++) {
        if ((wanted & offered & dependencies[i].need) != dependencies[i].need) {
            wanted &= ~dependencies[i].features | independent;
        }
    }
    if (!virtio_transport_negotiate(net->transport, wanted, &net->features, reason)) {
        return false;
    }
    /* The call reads the offer again. If that has changed, the dependencies may not hold. */
    if (((net->features ^ (wanted & offered)) & ~VIRTIO_F_VERSION_1) != 0) {
        *reason = "the device's offer of features changed during the negotiation";
        return false;
    }
    choose_header(net);
    *reason = "a driver that polls does not support legacy devices";
    return !net->parameters.polling || (net->features & VIRTIO_F_VERSION_1) != 0;
}

static bool read_mac(struct virtio_net *net)
{
    struct virtio_config_field field[6];

    for (unsigned i = 0; i < 6; i++) {
        field[i] = (struct virtio_config_field){.offset = (uint16_t)(CONFIG_MAC + i), .bytes = 1};
    }
    if (!virtio_transport_read_config(net->transport, field, 6)) {
        return false;
    }
    for (unsigned i = 0; i < 6; i++) {
        net->device->mac[i] = (uint8_t)field[i].value;
    }
    /* A group address and the address 0 are no station addresses. */
    net->device->has_mac =
        (net->device->mac[0] & 1u) == 0 && memcmp(net->device->mac, (uint8_t[6]){0}, 6) != 0;
    return true;
}

bool net_read_status(struct virtio_net *net, uint32_t *status)
{
    if ((net->features & VIRTIO_NET_F_STATUS) == 0 || !read16(net, CONFIG_STATUS, status)) {
        return false;
    }
    net->device->link_up = (*status & STATUS_LINK_UP) != 0;
    return true;
}

static void use_mtu(struct virtio_net *net, uint16_t mtu)
{
    net->device->mtu_offered = mtu;
    net->mtu = net_at_most(mtu, net->parameters.mtu_max);
    net->device->mtu_unused = net->mtu == mtu ? NULL : "no larger one is used here";
}

/* Reads MTU and number of pairs again, because they can have changed since the negotiation, and
 * checks them again. */
bool net_read_configuration(struct virtio_net *net, const char **reason)
{
    struct net_device *device = net->device;
    uint32_t value;

    *reason = "the device's configuration is too short, or changes all the time";
    if (((net->features & VIRTIO_NET_F_MAC) != 0 && !read_mac(net)) ||
        ((net->features & VIRTIO_NET_F_STATUS) != 0 && !net_read_status(net, &value))) {
        return false;
    }
    if ((net->features & VIRTIO_NET_F_MTU) != 0) {
        *reason = "the device's MTU can't be read any more, or changed to one that can't be served";
        if (!read16(net, CONFIG_MTU, &value) || !mtu_fits(net, value, net->features)) {
            return false;
        }
        use_mtu(net, (uint16_t)value);
    }
    if ((net->features & VIRTIO_NET_F_MQ) != 0) {
        *reason = "the number of the device's queue pairs can't be read any more, or changed";
        if (!read16(net, CONFIG_PAIRS, &value) || !pairs_fit(net, value)) {
            return false;
        }
        device->pairs = value < device->room ? (uint16_t)value : device->room;
        device->control.index = (uint16_t)(2 * value);
    }
    return true;
}
