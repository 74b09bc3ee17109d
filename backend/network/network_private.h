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

/* Publishes received frames. All clients' come before any sent ones: if this program ends between
 * the two, a frame that one client has sent to another arrives twice, and is not lost. */
void interrupt_publish_received(struct network_client *client);
/* Publishes sent frames, and commands. */
void interrupt_publish_sent(struct network_client *client);
/* Interrupts the client for what this round has published, or delays that. */
void interrupt_decide(struct network *network, unsigned index);
/* Returns when a delayed interrupt is decided, UINT64_MAX if there is none. */
uint64_t interrupt_due(const struct network_client *client);

/* Drops the frames that wait for a client. */
void backlog_drop(struct network *network, unsigned index);
/* Asks the driver to notify of buffers if frames wait for them. Returns false if there are new ones
 * already. */
bool backlog_sleep(struct network_client *client);
/* Returns when the first frame has waited for too long, UINT64_MAX if none waits. */
uint64_t backlog_due(const struct network_client *client);

enum transfer_result {
    TRANSFER_DONE,    /* the frame has left from all ports */
    TRANSFER_MORE,    /* it has left once, or from a port */
    TRANSFER_NO_ROOM, /* the card has none, or the client of a frame that may wait: nothing was done
                       */
};

/* Begins to move a frame that came from `port`. Its segments stay as they are until the transfer is
 * done. Returns the number of ports that it leaves from; 0: it was dropped. */
unsigned transfer_begin(struct network *network, struct network_transfer *transfer, unsigned port,
                        const struct device_net_frame *frame);
/* Begins again to move a frame from the card that has waited for the buffers of one client. */
void transfer_resume(struct network_transfer *transfer, const struct device_net_frame *frame,
                     const struct network_waiting *waiting);
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
