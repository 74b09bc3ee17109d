/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's owner in the unit tests: pools of receive buffers and packets. A buffer or packet
 * that is lost, returned twice or accessed while another party holds it fails the test. Each frame
 * carries a number and a pattern computed from it.
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
    struct virtio_net_parameters parameters;

    struct owner_buffer buffers[OWNER_BUFFERS];
    unsigned buffers_usable; /* number of buffers that the owner may use */
    uint32_t buffer_capacity;
    bool signalled;
    uint64_t signals;
    uint64_t signals_in_handler_max;

    uint32_t sent;           /* number of frames given to the driver */
    uint32_t sent_by_device; /* number of frames taken by the device */
    uint32_t returned;       /* number of packets returned by the driver */
    uint32_t injected;       /* number of frames given to the device */
    uint32_t received;       /* number of frames received by the owner */
    /* Checksum state of the last frame received. */
    enum virtio_net_checksum checksum;
    uint16_t checksum_start;
    uint16_t checksum_offset;
    uint32_t frame_bytes; /* length of the last frame received */
    uint64_t link_changes;
    /* Entries from `sent` on are zero until the index has wrapped. */
    struct owner_packet packets[OWNER_PACKETS];
    struct fake_device device;
};

/* Initializes the device and the pools. A test may still change the device before owner_start(). */
void owner_prepare(struct owner *owner, enum fake_bus bus, uint16_t vectors);
/* Finds the device and creates the driver; the test fails if that fails. */
void owner_start(struct owner *owner);
/* Prepares and starts without some features and with a transmit ring of `tx_ring` entries (0: the
 * driver's default). Then the device asks for the next notification of both queues. */
void owner_start_with(struct owner *owner, enum fake_bus bus, uint16_t vectors,
                      uint64_t features_off, uint16_t tx_ring);
/* Like owner_start(), but returns the reason for a failure, NULL on success. */
const char *owner_try_start(struct owner *owner);
/* Stops and frees the driver, and checks that everything came back and that the counters
 * balance. */
void owner_finish(struct owner *owner);
/* Stops the driver and fetches all packets. Returns true if the reset was confirmed. */
bool owner_stop(struct owner *owner);
/* Frees the pools. */
void owner_release(struct owner *owner);

/* Sends a frame of `bytes` in at most `segments` pieces. Returns false if the driver refuses it. */
bool owner_send(struct owner *owner, uint32_t bytes, unsigned segments, bool checksum);
/* Returns a packet with a frame that is not sent yet. */
struct owner_packet *owner_packet(struct owner *owner, uint32_t bytes, unsigned segments);
bool owner_fetch_packet(struct owner *owner);
void owner_fetch_packets(struct owner *owner);
void owner_fetch_frames(struct owner *owner);
/* Does the work of a port's bottom-half thread for one signal. */
void owner_bottom_half(struct owner *owner);
/* Runs the handlers of raised interrupts. */
void owner_interrupts(struct owner *owner);
/* Runs the handler that moves frames, raised or not; with a pool, which leaves that to the bottom
 * half, the bottom half's part of it. */
void owner_move(struct owner *owner);
/* Handles interrupts and signals until there are none. */
void owner_settle(struct owner *owner);
/* Checks the equations between the counters. */
void owner_check_balance(struct owner *owner);
/* Frees a buffer that virtio_net_receive() returned. */
void owner_take_back(struct virtio_net_buffer *buffer);
struct virtio_net_statistics owner_statistics(struct owner *owner);

/* Functions of the device side, which check numbers and patterns. */
bool owner_inject(struct owner *owner, uint32_t bytes);
/* Takes the next frame; checks header, number and pattern. False: none. */
bool owner_device_take(struct owner *owner, struct ring_chain *chain);
/* Takes and completes up to `limit`, and says when it wants the next notification. Returns how
 * many. */
unsigned owner_device_send(struct owner *owner, unsigned limit);

#endif
