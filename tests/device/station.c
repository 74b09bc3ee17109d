/* SPDX-License-Identifier: BSD-2-Clause */
/* See station.h. */
#include "station.h"
#include "frames.h"
#include "rules.h"
#include "unit/virtio/net_balance.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEADER            VIRTIO_NET_HEADER_BYTES
#define PACKET_BYTES      ((size_t)2048)
#define ROUNDS_MAX        100000u
#define IDLE_MILLISECONDS 1

static struct virtio_net_buffer *receive_buffer(void *context)
{
    struct station *station = context;

    for (unsigned i = 0; i < station->buffers_usable; i++) {
        struct station_buffer *ours = &station->buffers[i];

        if (!ours->with_driver) {
            ours->with_driver = true;
            return &ours->buffer;
        }
    }
    return NULL;
}

static void take_back(struct virtio_net_buffer *buffer)
{
    struct station_buffer *ours = (struct station_buffer *)buffer;

    assert_true(ours->with_driver);
    ours->with_driver = false;
    memset(buffer->memory, 0xee, buffer->capacity);
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    (void)context;
    take_back(buffer);
}

static void signal_bottom_half(void *context)
{
    ((struct station *)context)->signalled = true;
}

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_buffer,
    .return_buffer = return_buffer,
    .signal = signal_bottom_half,
};

static void find_mmio(struct station *station)
{
    const char *reason = NULL;

    /* QEMU fills the last place first. */
    for (unsigned place = QTEST_MMIO_COUNT; place-- != 0;) {
        virtio_register base =
            station->setting->machine->mmio + (virtio_register)place * QTEST_MMIO_BYTES;

        if (virtio_mmio_probe(&station->mmio, base, QTEST_MMIO_BYTES, &reason)) {
            station->transport = &station->mmio.transport;
            station->line = station->setting->machine->mmio_line + place;
            return;
        }
        if (reason != NULL) {
            fail_msg("mmio: %s", reason);
        }
    }
    fail_msg("no device on mmio");
}

static void find_pci(struct station *station)
{
    uint16_t vectors = station->setting->vectors;
    const char *reason = NULL;

    assert_true(qtest_pci_enumerate() != 0);
    for (unsigned i = 0; (station->function = qtest_pci_function(i)) != NULL; i++) {
        if (station->function->vendor_id != VIRTIO_PCI_VENDOR) {
            continue;
        }
        if (vectors != 0) {
            assert_int_equal(qtest_msix_enable(station->function, vectors), vectors);
        }
        if ((station->setting->probe_legacy ? virtio_pci_probe_legacy : virtio_pci_probe)(
                &station->pci, station->function, vectors, &reason)) {
            station->transport = &station->pci.transport;
            station->line = station->function->line;
            return;
        }
        if (reason != NULL) {
            fail_msg("pci: %s", reason);
        }
    }
    fail_msg("no device on pci");
}

static void make_pools(struct station *station)
{
    virtio_address unused;

    station->buffers_usable = STATION_BUFFERS;
    station->buffer_memory =
        virtio_platform_dma_allocate(STATION_BUFFERS * STATION_BUFFER_BYTES, 64, &unused);
    station->packet_memory = virtio_platform_dma_allocate(STATION_PACKET_MEMORY, 64, &unused);
    assert_non_null(station->buffer_memory);
    assert_non_null(station->packet_memory);
    for (unsigned i = 0; i < STATION_BUFFERS; i++) {
        station->buffers[i].buffer.memory = station->buffer_memory + i * STATION_BUFFER_BYTES;
        station->buffers[i].buffer.capacity = (uint32_t)STATION_BUFFER_BYTES;
    }
}

unsigned station_pairs(const struct station *station)
{
    const struct setting *setting = station->setting;

    if ((setting->expect & VIRTIO_NET_F_MQ) == 0) {
        return 1;
    }
    return setting->pairs < setting->device_pairs ? setting->pairs : setting->device_pairs;
}

static void open_pair(struct station *first, unsigned pair)
{
    struct station *station = &first[pair];
    const struct setting *setting = first->setting;

    *station = (struct station){.setting = setting, .pair = pair};
    station->flow = (uint8_t)((setting->expect & VIRTIO_NET_F_MQ) != 0 ? pair + 1 : 0);
    station->parameters = (struct virtio_net_parameters){
        .rx_buffers = setting->rx_buffers,
        .tx_ring = setting->tx_ring,
        .receive_bytes = setting->receive_bytes,
        .features_off = setting->refuse,
        .queue_pairs = setting->pairs,
        .vlan_filter = setting->vlan_filter,
    };
    make_pools(station);
}

void station_open(struct station *station, const struct setting *setting)
{
    qtest_attach(setting->machine, setting->protocol, setting->memory, setting->memory_bytes);
    monitor_execute(setting, "{\"execute\":\"qmp_capabilities\"}\n");
    station->setting = setting;
    assert_true(setting->device_pairs <= STATION_PAIRS_MAX);
    for (unsigned i = 0; i < station_pairs(station); i++) {
        open_pair(station, i);
    }
    if (setting->pci) {
        find_pci(station);
    } else {
        find_mmio(station);
    }
    assert_int_equal(station->transport->device_type, VIRTIO_DEVICE_NETWORK);
    assert_int_equal(station->transport->legacy, setting->legacy);
}

const char *station_try_start(struct station *station)
{
    const char *reason = NULL;
    void *contexts[VIRTIO_NET_PAIRS_MAX];
    struct virtio_net *net;

    for (unsigned i = 0; i < VIRTIO_NET_PAIRS_MAX; i++) {
        contexts[i] = i < station_pairs(station) ? &station[i] : NULL;
    }
    station->parameters.contexts = contexts;
    net =
        virtio_net_create(station->transport, &station->parameters, &operations, station, &reason);
    assert_true(net != NULL || reason != NULL);
    station->net = net;
    for (unsigned i = 0; net != NULL && i < station_pairs(station); i++) {
        station[i].net = virtio_net_pair(net, i);
        station[i].signalled = true; /* runs once without a signal */
    }
    return net == NULL ? reason : NULL;
}

void station_start(struct station *station)
{
    const char *reason = station_try_start(station);

    if (reason != NULL) {
        fail_msg("create: %s", reason);
    }
    if (virtio_net_features(station->net) != station->setting->expect) {
        fail_msg("features %#" PRIx64 " instead of %#" PRIx64, virtio_net_features(station->net),
                 station->setting->expect);
    }
    for (unsigned i = 0; i < station_pairs(station); i++) {
        assert_non_null(station[i].net);
    }
    assert_null(virtio_net_pair(station->net, station_pairs(station)));
}

static void fetch_packets(struct station *station)
{
    struct virtio_net_packet *packet;

    while ((packet = virtio_net_transmitted(station->net)) != NULL) {
        struct station_packet *ours = packet->owner;

        assert_true(ours->with_driver);
        ours->with_driver = false;
        station->returned++;
        /* A device that still reads the memory now does not send what was given to it. */
        memset(ours->memory, 0xcc, ours->bytes);
    }
}

/* Joins the pieces of a frame and returns their buffers. Returns the frame's length. */
static uint32_t gather(uint8_t *frame, struct virtio_net_buffer *buffer)
{
    uint32_t header = HEADER; /* only in the first buffer */
    uint32_t bytes = 0;
    unsigned count = buffer->buffers;

    for (; buffer != NULL; count--) {
        struct virtio_net_buffer *rest = buffer->rest;

        assert_true(buffer->frame_bytes <= buffer->capacity - header);
        assert_true(bytes + buffer->frame_bytes <= STATION_FRAME_BYTES);
        memcpy(frame + bytes, buffer->memory + header, buffer->frame_bytes);
        bytes += buffer->frame_bytes;
        header = 0;
        take_back(buffer);
        assert_int_equal(rest == NULL, count == 1);
        buffer = rest;
    }
    return bytes;
}

struct station *station_of_flow(struct station *station, uint8_t flow)
{
    assert_true(flow <= station_pairs(station));
    return flow == 0 ? station : &station[flow - 1];
}

static void fetch_frames(struct station *station)
{
    static uint8_t frame[STATION_FRAME_BYTES];
    struct virtio_net_buffer *buffer;
    struct station *owner;

    while ((buffer = virtio_net_receive(station->net)) != NULL) {
        station->frame_buffers = buffer->buffers;
        station->checksum = buffer->checksum;
        station->checksum_start = buffer->checksum_start;
        station->checksum_offset = buffer->checksum_offset;
        station->frame_bytes = gather(frame, buffer);
        station->frame_kind = frame_kind(frame, false);
        owner = station_of_flow(station - station->pair, station->frame_kind.flow);
        owner->steered += owner == station;
        frame_count(frame, station->frame_bytes, &owner->received, owner->stale_frames, false);
    }
}

static void bottom_half(struct station *station)
{
    unsigned rounds = 0;

    station->signalled = false;
    do {
        assert_true(rounds++ < ROUNDS_MAX);
        fetch_frames(station);
        fetch_packets(station);
        if (virtio_net_link_changed(station->net)) {
            station->link_changes++;
            station->announcements += virtio_net_announce_asked(station->net);
        }
    } while (virtio_net_bottom_half(station->net));
}

/* Returns the pair of the queues that use this vector (net.h). */
static struct station *vector_owner(struct station *first, unsigned vector)
{
    unsigned vectors = first->transport->vectors;
    unsigned pairs = station_pairs(first);

    if (vectors > 2 * pairs) {
        assert_true(vector <= 2 * pairs);
        return &first[(vector - 1) / 2];
    }
    return vectors > pairs && pairs > 1 ? &first[vector - 1] : first;
}

/* Returns true if an interrupt was pending, after running its handler. */
static bool interrupt(struct station *station)
{
    uint16_t vectors = station->transport->vectors;

    if (vectors == 0) {
        if (!qtest_line(station->line)) {
            return false;
        }
        virtio_net_interrupt(station->net);
        return true;
    }
    for (uint16_t vector = 0; vector < vectors; vector++) {
        if (qtest_msix_take(vector)) {
            if (vector == 0 && vectors > 1) {
                virtio_net_configuration_interrupt(station->net);
            } else {
                virtio_net_interrupt(vector_owner(station, vector)->net);
            }
            return true;
        }
    }
    return false;
}

void station_serve(struct station *station, bool drain)
{
    bool busy = false;

    qtest_wait(0);
    for (unsigned rounds = 0; interrupt(station); rounds++) {
        assert_true(rounds < 1000);
        busy = true;
    }
    for (unsigned i = 0; i < station_pairs(station); i++) {
        if (station[i].signalled) {
            bottom_half(&station[i]);
            busy = true;
        }
    }
    while (drain && station_arrive(station)) {
        busy = true;
    }
    if (!busy) {
        qtest_wait(IDLE_MILLISECONDS);
    }
}

/* Splits the frame in `ours` into pieces and transmits it. */
static bool hand_over(struct station *station, struct station_packet *ours, uint32_t bytes,
                      unsigned segments)
{
    struct virtio_net_packet *packet = &ours->packet;
    uint8_t *at = ours->memory + HEADER;

    memset(ours->rest, 0, sizeof(ours->rest));
    for (unsigned i = 0; i < segments; i++) {
        uint32_t piece = i + 1 == segments ? bytes - bytes / segments * i : bytes / segments;

        if (packet->segment_count == VIRTIO_NET_SEGMENTS_MAX) {
            packet->rest = &ours->rest[i / VIRTIO_NET_SEGMENTS_MAX - 1];
            packet = packet->rest;
        }
        packet->segment[packet->segment_count++] = (struct virtio_net_segment){at, piece};
        at += piece;
    }
    ours->with_driver = true;
    if (!virtio_net_transmit(station->net, &ours->packet)) {
        ours->with_driver = false;
        return false;
    }
    station->sent++;
    return true;
}

bool station_send(struct station *station, uint32_t bytes, unsigned segments)
{
    unsigned number = station->sent % STATION_PACKETS;
    struct station_packet *ours = &station->packets[number];

    if (ours->with_driver) { /* a sender that waits for packets fetches them: net.h */
        fetch_packets(station);
    }
    if (ours->with_driver) {
        return false;
    }
    ours->memory = station->packet_memory + (size_t)number * PACKET_BYTES;
    ours->bytes = PACKET_BYTES;
    assert_true(bytes + HEADER <= PACKET_BYTES);
    frame_make(ours->memory + HEADER, bytes, station->sent,
               (struct frame_kind){.transmit = true, .flow = station->flow});
    ours->packet = (struct virtio_net_packet){.owner = ours};
    if (station->leave_checksum) {
        ours->packet.checksum_partial = true;
        ours->packet.checksum_start = STATION_CHECKSUM_START;
        ours->packet.checksum_offset = STATION_CHECKSUM_OFFSET;
    }
    return hand_over(station, ours, bytes, segments);
}

bool station_send_large(struct station *station, uint32_t bytes, unsigned segments,
                        enum virtio_net_gso type, uint16_t gso_bytes)
{
    unsigned number = station->next_large % STATION_LARGE;
    struct station_packet *ours = &station->packets[station->sent % STATION_PACKETS];
    struct station_packet *before = station->large[number];

    fetch_packets(station);
    if (ours->with_driver || (before != NULL && before->with_driver)) {
        return false;
    }
    ours->memory = station->packet_memory + STATION_PACKETS * PACKET_BYTES +
                   (size_t)number * STATION_LARGE_BYTES;
    ours->bytes = STATION_LARGE_BYTES;
    assert_true(bytes + HEADER <= STATION_LARGE_BYTES && segments <= STATION_PIECES_MAX);
    frame_make(ours->memory + HEADER, bytes, station->sent,
               (struct frame_kind){.transmit = true, .type = type, .flow = station->flow});
    ours->packet = (struct virtio_net_packet){
        .owner = ours,
        .gso_type = type,
        .gso_bytes = gso_bytes,
        .header_bytes = frame_headers(type),
        .checksum_partial = true,
        .checksum_start = frame_transport(type),
        .checksum_offset = STATION_TCP_CHECKSUM,
    };
    if (!hand_over(station, ours, bytes, segments)) {
        return false;
    }
    station->large[number] = ours;
    station->next_large++;
    return true;
}

struct virtio_net_statistics station_statistics(struct station *station)
{
    struct virtio_net_statistics statistics;

    virtio_net_statistics(station->net, &statistics);
    return statistics;
}

void station_check_balance(struct station *station)
{
    struct virtio_net_statistics s = station_statistics(station);
    unsigned buffers = 0;
    unsigned packets = 0;

    for (unsigned i = 0; i < STATION_BUFFERS; i++) {
        buffers += station->buffers[i].with_driver;
    }
    for (unsigned i = 0; i < STATION_PACKETS; i++) {
        packets += station->packets[i].with_driver;
    }
    net_check_balance(&s, buffers, packets);
}

/* Checks that a stopped driver has returned everything. */
static void fetch_everything(struct station *station)
{
    struct virtio_net_statistics s;

    fetch_packets(station);
    assert_null(virtio_net_receive(station->net));
    station_check_balance(station);
    s = station_statistics(station);
    net_check_all_returned(&s);
    assert_int_equal(station->sent, station->returned);
}

void station_stop(struct station *station)
{
    assert_true(virtio_net_stop(station->net));
    /* 2.4.1: the owner holds the exposed buffers again, so the device must no longer write to
     * them. */
    assert_int_equal(station->transport->operations->status(station->transport), 0);
    for (unsigned i = 0; i < station_pairs(station); i++) {
        fetch_everything(&station[i]);
    }
    virtio_net_free(station->net);
    for (unsigned i = 0; i < station_pairs(station); i++) {
        station[i].net = NULL;
    }
}

void station_close(struct station *station)
{
    station_stop(station);
    if (station->transport->vectors != 0) {
        qtest_msix_disable(station->function);
    }
    for (unsigned i = 0; i < station_pairs(station); i++) {
        virtio_platform_dma_free(station[i].buffer_memory, STATION_BUFFERS * STATION_BUFFER_BYTES);
        virtio_platform_dma_free(station[i].packet_memory, STATION_PACKET_MEMORY);
    }
}

static void describe_pair(struct station *station)
{
    struct virtio_net_statistics s = station_statistics(station);

    printf("pair %u: sent %u arrived %u returned %u, injected %u received %u, signalled %d\n",
           station->pair, station->sent, station->arrived, station->returned, station->injected,
           station->received, station->signalled);
    printf("interrupts %" PRIu64 " spurious %" PRIu64 " signals %" PRIu64 ", exposed %" PRIu64
           " in flight %" PRIu64 " queued %" PRIu64 "\n",
           s.interrupts, s.interrupts_spurious, s.signals, s.rx_exposed, s.tx_in_flight,
           s.tx_queued);
}

void station_describe(struct station *station)
{
    printf("line %d\n", qtest_line(station->line));
    for (unsigned i = 0; i < station_pairs(station); i++) {
        describe_pair(&station[i]);
    }
    if (virtio_net_broken(station->net) != NULL) {
        printf("broken: %s\n", virtio_net_broken(station->net));
    }
    rules_describe();
}
