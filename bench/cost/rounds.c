/* SPDX-License-Identifier: BSD-2-Clause */
/* See rounds.h. */
#include "rounds.h"
#include "mark.h"
#include <stdbool.h>

struct order {
    uint16_t direction;
    uint16_t bytes;
    uint16_t datagrams;
    uint16_t rounds;
};

static uint8_t datagram[ROUNDS_BYTES_MAX];

static inline void mark(void)
{
    __asm__ volatile(".inst %0" : : "i"(ROUNDS_MARK) : "memory");
}

static uint16_t number(const uint8_t *field)
{
    return (uint16_t)(field[0] << 8 | field[1]);
}

/* Waits for an order, and ignores other datagrams. Returns false on an error of the endpoint. */
static bool receive_order(endpoint_t endpoint, struct order *order)
{
    for (;;) {
        long bytes = endpoint_receive(endpoint, datagram, sizeof(datagram));

        if (bytes < 0) {
            return false;
        }
        *order = (struct order){
            .direction = number(datagram),
            .bytes = number(datagram + 2),
            .datagrams = number(datagram + 4),
            .rounds = number(datagram + 6),
        };
        if (bytes == 8 && order->bytes <= ROUNDS_BYTES_MAX) {
            return true;
        }
    }
}

static bool send_rounds(endpoint_t endpoint, const struct order *order)
{
    for (unsigned round = 0; round < order->rounds; round++) {
        mark();
        for (unsigned i = 0; i < order->datagrams; i++) {
            if (endpoint_send(endpoint, datagram, order->bytes) != order->bytes) {
                return false;
            }
        }
    }
    mark();
    return true;
}

static bool receive_rounds(endpoint_t endpoint, const struct order *order)
{
    for (unsigned round = 0; round < order->rounds; round++) {
        mark();
        for (unsigned i = 0; i < order->datagrams; i++) {
            if (endpoint_receive(endpoint, datagram, sizeof(datagram)) != order->bytes) {
                return false;
            }
        }
    }
    mark();
    return true;
}

int rounds_serve(endpoint_t endpoint)
{
    struct order order;
    bool well = endpoint_send(endpoint, datagram, 1) == 1;

    while (well && receive_order(endpoint, &order)) {
        well = order.direction == ROUNDS_SEND ? send_rounds(endpoint, &order)
                                              : receive_rounds(endpoint, &order);
    }
    return -1;
}
