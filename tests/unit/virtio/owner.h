/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's owner in the tests: pools of receive buffers and packets whose every step is
 * followed, so that one which is lost, returned twice or touched while somebody else has it fails
 * the test. Each frame carries a number and a pattern made from it.
 */
#ifndef TESTS_VIRTIO_OWNER_H
#define TESTS_VIRTIO_OWNER_H

#include "fake.h"
#include "virtio/net.h"

#define OWNER_BUFFERS 64u
#define OWNER_PACKETS 1024u

struct owner_buffer {
    struct virtio_net_buffer buffer;
    bool with_driver;
};

struct owner_packet {
    struct virtio_net_packet packet;
    bool with_driver;
    uint32_t number;
    uint32_t bytes;
    uint8_t *memory[VIRTIO_NET_SEGMENTS_MAX];
};

struct owner {
    struct virtio_net *net;
    struct virtio_mmio mmio;
    struct virtio_pci pci;
    struct virtio_transport *transport;
    struct fake_device device;
    struct virtio_net_parameters parameters;

    struct owner_buffer buffers[OWNER_BUFFERS];
    unsigned buffers_usable; /* of those */
    uint32_t buffer_capacity;
    struct owner_packet packets[OWNER_PACKETS];
    bool signalled;
    uint64_t signals;
    uint64_t signals_in_handler_max;

    uint32_t sent;           /* numbers given out to transmitted frames */
    uint32_t sent_by_device; /* numbers seen by the device */
    uint32_t returned;       /* packets that came back */
    uint32_t injected;       /* numbers given out to received frames */
    uint32_t received;       /* seen by the owner */
    /* Of the last frame received: */
    enum virtio_net_checksum checksum;
    uint16_t checksum_start;
    uint16_t checksum_offset;
    uint32_t frame_bytes; /* of the last frame received */
    uint64_t link_changes;
};

/* Fills in the device and the pools; the device can still be changed before owner_start(). */
void owner_prepare(struct owner *owner, enum fake_bus bus, uint16_t vectors);
/* Probes and creates; fails the test if that fails. */
void owner_start(struct owner *owner);
/* Prepares and starts without some features and with a transmit ring of `tx_ring` (0: as the driver
 * chooses); then the device asks for the next notification of both queues. */
void owner_start_with(struct owner *owner, enum fake_bus bus, uint16_t vectors,
                      uint64_t features_off, uint16_t tx_ring);
/* As owner_start(), returning the reason for failure, NULL for success. */
const char *owner_try_start(struct owner *owner);
/* Stops and frees the driver, checks that everything came back and the counters balance. */
void owner_finish(struct owner *owner);
/* Stops only: true if the reset was confirmed. Fetches all packets. */
bool owner_stop(struct owner *owner);
/* Frees the pools. */
void owner_release(struct owner *owner);

/* A frame of `bytes` in `segments` pieces (as far as it has bytes). False: refused. */
bool owner_send(struct owner *owner, uint32_t bytes, unsigned segments, bool checksum);
/* A free packet, filled but not sent. */
struct owner_packet *owner_packet(struct owner *owner, uint32_t bytes, unsigned segments);
bool owner_fetch_packet(struct owner *owner);
void owner_fetch_packets(struct owner *owner);
void owner_fetch_frames(struct owner *owner);
/* What a port's bottom-half thread does for one signal. */
void owner_bottom_half(struct owner *owner);
/* Runs the handlers of raised interrupts. */
void owner_interrupts(struct owner *owner);
/* Interrupts and signals until there are none. */
void owner_settle(struct owner *owner);
/* The counters' equations. */
void owner_check_balance(struct owner *owner);
/* A buffer fetched by virtio_net_receive() is free again. */
void owner_take_back(struct virtio_net_buffer *buffer);
struct virtio_net_statistics owner_statistics(struct owner *owner);

/* Device side, with numbers and patterns checked. */
bool owner_inject(struct owner *owner, uint32_t bytes);
/* Takes the next frame; checks header, number and pattern. False: none. */
bool owner_device_take(struct owner *owner, struct ring_chain *chain);
/* Takes and completes up to `limit`, and says when it wants the next notification. Returns how
 * many. */
unsigned owner_device_send(struct owner *owner, unsigned limit);

#endif
