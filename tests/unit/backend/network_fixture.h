/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stations on the back-end of network devices, for its tests: clients whose rings are written by
 * this library's driver, with the page as the hypervisor writes it, and a card that records what it
 * sends. The clock, the card's room and the end of the program are the test's.
 */
#ifndef NETWORK_FIXTURE_H
#define NETWORK_FIXTURE_H

#include "driver_fixture.h"

#include "backend/network.h"

#define STATIONS    3u
#define PARTS       (RING / 2)
#define FRAME_ROOM  66000u
#define RECORDS     4096u
#define CARD_FRAMES 4096u

#define HEADER DEVICE_NET_HEADER_BYTES

struct station {
    struct virtqueue queues[DEVICE_NET_QUEUES];
    struct shared_device_page page;
    uint32_t acknowledged; /* generation */
    unsigned acknowledgements;
    unsigned interrupts;
    unsigned failures;
    uint16_t status; /* of the configuration */
    bool has_queues;
};

struct card_frame {
    uint8_t *bytes;
    uint32_t count;
    bool is_partial;
    uint16_t checksum_start;
    enum device_net_gso gso;
};

/* A frame from the card that may wait. */
struct waiting_frame {
    struct waiting_frame *next;
    struct device_net_frame frame;
    uint8_t bytes[];
};

struct fixture {
    struct network network;
    struct network_client clients[STATIONS];
    struct network_client_setup setups[STATIONS];
    struct station stations[STATIONS];
    struct card_frame card[CARD_FRAMES];
    unsigned card_count;
    unsigned card_room;  /* frames that the card still takes */
    uint32_t card_limit; /* longest frame that the card takes */
    unsigned waiting;    /* frames from the card that the back-end keeps */
    struct waiting_frame *waiting_first;
    bool card_completes; /* checksums, in software, while a frame is copied */
    uint64_t now;
    void (*on_callback)(void); /* before each callback of the back-end, or NULL */
};

extern struct fixture fixture;

/* Describes the stations: the addresses 02:00:00:00:00:01 and so on, no VLAN, no limit. The test
 * may change setups before fixture_begin(). */
void fixture_prepare(void);
/* Begins a life of the back-end. */
void fixture_begin(void);
/* Frees all memory. */
void fixture_end(void);

/* The driver of a station sets up its device with these features. */
void station_start(unsigned index, uint64_t features);
/* It resets its device, or its partition ends. The queues' memory is the driver's again once the
 * back-end has acknowledged that. */
void station_reset(unsigned index);
void station_free(unsigned index);
/* Makes `count` receive buffers of `bytes` available. */
void station_expose(unsigned index, unsigned count, uint32_t bytes);
/* Makes a frame available: a header, and a copy of the frame, in separate segments if `is_apart`.
 * Returns the copy, which the test may change, or NULL if the ring is full. */
uint8_t *station_send(unsigned index, const uint8_t header[HEADER], const uint8_t *frame,
                      uint32_t bytes, bool is_apart);
/* Makes a frame available in PARTS segments. Returns false if the ring is full. */
bool station_send_parts(unsigned index, const uint8_t *frame, uint32_t bytes);
/* Collects finished frames. Returns their number. */
unsigned station_sent(unsigned index);
/* Takes the next received frame, its header included, of one buffer. Returns its length, or 0. */
uint32_t station_receive(unsigned index, uint8_t *frame);

/* Executes rounds until the back-end has nothing to do. */
void settle(void);
/* Executes a round with this budget. */
enum network_answer turn_round(unsigned budget);

/* A frame from the card. */
void card_receive(const uint8_t *frame, uint32_t bytes);
/* The same, with offloads, a step a round. Returns the number of steps. */
unsigned card_receive_frame(const struct device_net_frame *frame);
/* A frame from the card with these bytes, which may wait. */
enum network_reception card_receive_waiting(const struct device_net_frame *frame,
                                            const uint8_t *bytes);

/* Writes a frame with a number, and a pattern that follows from it: `from` and `to` are the last
 * bytes of addresses (0xff: broadcast; from 0x80 on: stations behind the card). */
void make_frame(uint8_t *frame, uint32_t bytes, uint8_t to, uint8_t from, uint32_t number);
/* Checks that the bytes behind the addresses are those of make_frame(). Returns the number. */
uint32_t check_frame(const uint8_t *frame, uint32_t bytes);

#endif
