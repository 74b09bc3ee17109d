/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to the back-end of network devices. */
#ifndef BACKEND_NETWORK_PRIVATE_H
#define BACKEND_NETWORK_PRIVATE_H

#include "backend/network.h"

/* Reads the client's page: stops a driver whose queues have changed, and acknowledges that; starts
 * one that is ready. */
void client_follow(struct network *network, unsigned index);
/* The client's driver broke a rule, and is not served any more. */
void client_fail(struct network *network, unsigned index, const char *reason);

enum transfer_result {
    TRANSFER_DONE,    /* the frame has left from all ports */
    TRANSFER_MORE,    /* it has left once, or from a port */
    TRANSFER_NO_ROOM, /* the card has none: nothing was done */
};

/* Begins to move a frame that came from `port`. Its segments stay as they are until the transfer is
 * done. Returns the number of ports that it leaves from; 0: it was dropped. */
unsigned transfer_begin(struct network *network, struct network_transfer *transfer, unsigned port,
                        const struct device_net_frame *frame);
/* Lets the frame, or one segment of it, leave from one port. */
enum transfer_result transfer_step(struct network *network, struct network_transfer *transfer);

static inline unsigned port_of(unsigned client)
{
    return client + 1;
}

/* Returns the client behind a port, which is not the card's. */
static inline struct network_client *client_at(struct network *network, unsigned port)
{
    return &network->clients[port - 1];
}

#endif
