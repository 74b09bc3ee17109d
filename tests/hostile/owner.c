/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's owner: an application that follows the rules of virtio/net.h and checks that the
 * driver follows them too. */
#include "owner.h"
#include <string.h>

#define SHORT_BUFFER 64u

struct owner owner = {.pair = owner.pairs};

const struct work wait_limit = {.registers = 20000, .shared = 20000, .all = 2000000};

struct work call_limit(unsigned rounds)
{
    uint64_t moved = (uint64_t)rounds * (owner.budget + owner.target + 16u);

    return (struct work){
        .registers = 8u + 4u * rounds, .shared = 64 + moved * 64, .all = 4096 + moved * 1024};
}

static struct pair *pair_of(void *context)
{
    struct pair *pair = context;

    HOSTILE_CHECK(pair >= owner.pairs && pair < owner.pairs + PAIRS, "context");
    return pair;
}

static struct virtio_net_buffer *receive_buffer(void *context)
{
    struct pair *pair = pair_of(context);
    struct virtio_net_buffer *buffer;

    HOSTILE_CHECK(platform_locked == 1, "receive_buffer() without the lock");
    buffer = pool_take_buffer(owner.short_buffers ? SHORT_BUFFER : owner.capacity);
    pair->taken += buffer != NULL;
    return buffer;
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    HOSTILE_CHECK(platform_locked == 1, "return_buffer() without the lock");
    pair_of(context)->returned++;
    pool_return_buffer(buffer);
}

static void signal_bottom_half(void *context)
{
    struct pair *pair = pair_of(context);

    HOSTILE_CHECK(platform_locked == 0, "signal() with the lock");
    pair->signalled = true;
    pair->signals++;
}

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_buffer,
    .return_buffer = return_buffer,
    .signal = signal_bottom_half,
};

void owner_power_on(void)
{
    memset(&owner, 0, sizeof(owner));
    owner.pair = owner.pairs;
    pool_clear();
}

void owner_choose(unsigned pair)
{
    owner.pair = &owner.pairs[pair < PAIRS && owner.pairs[pair].net != NULL ? pair : 0];
}

unsigned owner_chosen(void)
{
    return (unsigned)(owner.pair - owner.pairs);
}

bool owner_signalled(unsigned pair)
{
    return owner.pairs[pair].signalled;
}

struct virtio_net *owner_net(void)
{
    return owner.pair->net;
}

bool owner_running(void)
{
    return owner_net() != NULL && owner.interruptible && virtio_net_broken(owner_net()) == NULL;
}

bool owner_interruptible(void)
{
    return owner.pair->net != NULL && owner.interruptible && !owner.in_handler;
}

static struct virtio_transport *probe(const char **reason)
{
    struct virtio_pci_function *function = (struct virtio_pci_function *)&device;

    device.windows = 0;
    if (device.bus == BUS_MMIO) {
        return virtio_mmio_probe(&owner.mmio, MMIO_BASE, MMIO_BYTES, reason) ? &owner.mmio.transport
                                                                             : NULL;
    }
    return virtio_pci_probe(&owner.pci, function, owner.vectors, reason) ? &owner.pci.transport
                                                                         : NULL;
}

static void create(const struct virtio_net_parameters *parameters, const char **reason)
{
    void *contexts[PAIRS] = {&owner.pairs[0], &owner.pairs[1]};
    struct virtio_net_parameters ours = *parameters;
    struct driver_call outer = snare_enter("create", &wait_limit);
    struct virtio_net *net;

    ours.contexts = contexts;
    owner.transport = probe(reason);
    if (owner.transport != NULL) {
        owner.transport->pool = memory_pool();
        net = virtio_net_create(owner.transport, &ours, &operations, contexts[0], reason);
        HOSTILE_CHECK(net != NULL || *reason != NULL, "a failure without a reason");
        for (unsigned i = 0; net != NULL && i < PAIRS; i++) {
            owner.pairs[i].net = virtio_net_pair(net, i);
        }
        HOSTILE_CHECK(net == owner.pairs[0].net, "the driver is not the first pair's");
    }
    snare_leave(&outer);
}

static uint16_t or_default(uint16_t value, uint16_t standard)
{
    return value != 0 ? value : standard;
}

const char *owner_create(const struct virtio_net_parameters *parameters, uint32_t capacity)
{
    const char *reason = NULL;

    owner_choose(0);
    HOSTILE_CHECK(owner_net() == NULL, "two drivers for one device");
    owner.vectors = device.line ? 0 : device.vectors_granted < VECTORS ? device.vectors_granted : 3;
    owner.budget = or_default(parameters->interrupt_budget, 64);
    owner.target = or_default(parameters->rx_buffers, 8);
    owner.target =
        parameters->rx_buffers_max > owner.target ? parameters->rx_buffers_max : owner.target;
    owner.capacity = capacity;
    for (unsigned i = 0; i < PAIRS; i++) {
        /* Runs once without a signal (virtio/net.h). */
        owner.pairs[i] = (struct pair){.signalled = true};
    }
    pool_forget_expected();
    device_forget_memory();
    create(parameters, &reason);
    if (owner_net() == NULL) {
        HOSTILE_CHECK(!device_let_go() || (platform_allocations() == 0 && pool_buffers_held() == 0),
                      "a driver that could not start keeps memory");
        platform_free_lost(); /* from now on only the device may access it */
        pool_take_back();
        return reason != NULL ? reason : "no device";
    }
    owner.interruptible = true;
    owner_getters();
    return NULL;
}

void owner_for_pairs(void (*call)(void))
{
    unsigned chosen = owner_chosen();

    for (unsigned i = 0; i < PAIRS && owner.pairs[i].net != NULL; i++) {
        owner_choose(i);
        call();
    }
    owner_choose(chosen);
}

static void fetch_all_packets(void)
{
    (void)owner_fetch_packets(UINT32_MAX);
}

bool owner_stop(void)
{
    struct driver_call outer = snare_enter("stop", &wait_limit);
    bool stopped;

    owner.interruptible = false;
    stopped = virtio_net_stop(owner_net());
    snare_leave(&outer);
    owner_for_pairs(fetch_all_packets);
    owner_check();
    HOSTILE_CHECK(!stopped || (pool_buffers_held() == 0 && pool_packets_held() == 0),
                  "stopped with %u buffers and %u packets missing", pool_buffers_held(),
                  pool_packets_held());
    HOSTILE_CHECK(stopped || !device_let_go(), "the driver ignores a confirmed reset");
    return stopped;
}

bool owner_destroy(void)
{
    struct driver_call outer;
    unsigned lost = platform_allocations();

    if (!owner_stop()) {
        return false;
    }
    outer = snare_enter("free", &wait_limit);
    virtio_net_free(owner_net());
    snare_leave(&outer);
    for (unsigned i = 0; i < PAIRS; i++) {
        owner.pairs[i].net = NULL;
    }
    owner_choose(0);
    HOSTILE_CHECK(platform_allocations() < lost, "freed nothing");
    return true;
}

void owner_getters(void)
{
    uint8_t mac[6];
    uint16_t offered;
    uint16_t mtu;

    (void)virtio_net_mac(owner_net(), mac);
    HOSTILE_CHECK(device.legacy || (virtio_net_features(owner_net()) & VIRTIO_F_VERSION_1) != 0,
                  "features");
    mtu = virtio_net_mtu(owner_net());
    HOSTILE_CHECK(mtu >= 68 && (mtu + 26u <= owner.capacity ||
                                (mtu <= LARGE_MTU &&
                                 (virtio_net_features(owner_net()) & VIRTIO_NET_F_MRG_RXBUF) != 0)),
                  "an MTU of %u", mtu);
    HOSTILE_CHECK(virtio_net_mtu_unused(owner_net(), &offered) != NULL || offered == mtu ||
                      (virtio_net_features(owner_net()) & VIRTIO_NET_F_MTU) == 0,
                  "an MTU of %u is not used, without a reason", offered);
}

static void check_pair(void)
{
    const struct pair *pair = owner.pair;
    struct virtio_net_statistics s;

    virtio_net_statistics(pair->net, &s);
    HOSTILE_CHECK(s.rx_buffers_taken == s.rx_buffers_returned + s.rx_exposed + s.rx_queued &&
                      s.rx_buffers_taken == pair->taken && s.rx_buffers_returned == pair->returned,
                  "receive buffers: %llu taken, %llu returned, %llu exposed, %llu queued",
                  (unsigned long long)s.rx_buffers_taken, (unsigned long long)s.rx_buffers_returned,
                  (unsigned long long)s.rx_exposed, (unsigned long long)s.rx_queued);
    HOSTILE_CHECK(s.tx_accepted == s.tx_returned + s.tx_in_flight + s.tx_queued + s.tx_finished &&
                      s.tx_accepted == pair->sent && s.tx_returned == pair->fetched,
                  "packets: %llu accepted, %llu returned, %llu at the device, %llu queued, %llu "
                  "finished",
                  (unsigned long long)s.tx_accepted, (unsigned long long)s.tx_returned,
                  (unsigned long long)s.tx_in_flight, (unsigned long long)s.tx_queued,
                  (unsigned long long)s.tx_finished);
    HOSTILE_CHECK(s.signals == pair->signals, "signals");
    HOSTILE_CHECK(s.descriptors_moved_max <= owner.budget && s.rx_exposed <= owner.target,
                  "%llu descriptors moved, %llu exposed",
                  (unsigned long long)s.descriptors_moved_max, (unsigned long long)s.rx_exposed);
    HOSTILE_CHECK(s.queue_resets <= device.queue_resets_told || !owner.interruptible,
                  "a queue counts as reset but is not (2.6.1)");
}

void owner_check(void)
{
    uint64_t held = 0;

    HOSTILE_CHECK(platform_locked == 0, "the lock is still held");
    if (owner_net() == NULL) {
        return;
    }
    owner_for_pairs(check_pair);
    for (unsigned i = 0; i < PAIRS; i++) {
        held += owner.pairs[i].taken - owner.pairs[i].returned;
    }
    HOSTILE_CHECK(held == pool_buffers_held(), "%llu buffers are with the driver, of %u",
                  (unsigned long long)held, pool_buffers_held());
    HOSTILE_CHECK(virtio_net_broken(owner_net()) == NULL || device.lies != 0,
                  "an honest device is reported as broken: %s", virtio_net_broken(owner_net()));
}

unsigned owner_frames_received(void)
{
    return owner.frames_received;
}

struct frame_seen owner_last_frame(void)
{
    return owner.last;
}
