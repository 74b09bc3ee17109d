/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's sequential interface with three corrections (to 2.1.3 and 2.2.1).
 *
 * One place of every mailbox is reserved for the message that a connection has ended. Without that,
 * recv_tcp() posts data until the mailbox is full, and the message that the peer has closed is
 * lost: the program waits for ever.
 *
 * Data that a connection has accepted is reported as accepted, even if there is no route at the
 * moment because the link is down: the connection's timer sends it later. Without that,
 * lwip_netconn_do_writemore() reports that nothing was accepted, and a program that tries again
 * sends the data twice.
 *
 * Datagrams for which the program's mailbox has no place are counted, and those for which no
 * structure is free that the mailbox could hold. recv_udp() drops both without a count.
 *
 * Compiled with lwIP's arguments; the include path has the folder of api_msg.c.
 */
#include "lwip/memp.h"
#include "lwip/netbuf.h"
#include "lwip/sys.h"
#include "lwip/tcp.h"
#include "received_counts.h"

static void *allocate(memp_t type);
static err_t post_message(sys_mbox_t *mbox, void *message);
static err_t post_datagram(sys_mbox_t *mbox, struct netbuf *datagram);
static err_t output_or_later(struct tcp_pcb *connection);

/* Of all messages only a datagram is a netbuf. */
#define sys_mbox_trypost(mbox, message) \
    _Generic((message), struct netbuf *: post_datagram, default: post_message)((mbox), (message))
#define tcp_output  output_or_later
#define memp_malloc allocate

#include "api_msg.c"

#undef memp_malloc
#undef tcp_output
#undef sys_mbox_trypost

/* Under lwIP's core lock, as the functions below. Only recv_udp() allocates a netbuf here. */
static void *allocate(memp_t type)
{
    void *memory = memp_malloc(type);

    if (memory == NULL && type == MEMP_NETBUF) {
        received_counts.datagrams_unread++;
    }
    return memory;
}

static err_t output_or_later(struct tcp_pcb *connection)
{
    err_t error = tcp_output(connection);

    return error == ERR_RTE ? ERR_OK : error;
}

/* The lock is held, so no other thread posts meanwhile, and a free place stays free. */
static err_t post_message(sys_mbox_t *mbox, void *message)
{
    const void *what = message;
    int end = what == &netconn_closed || what == &netconn_reset || what == &netconn_aborted;

    if (!end && mbox->count + 1 >= mbox->capacity) {
        return ERR_MEM;
    }
    return sys_mbox_trypost(mbox, message);
}

static err_t post_datagram(sys_mbox_t *mbox, struct netbuf *datagram)
{
    err_t error = post_message(mbox, datagram);

    if (error != ERR_OK) {
        received_counts.datagrams_unread++;
    }
    return error;
}
