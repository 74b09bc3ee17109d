/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's sequential interface with two corrections (to 2.1.3 and 2.2.1).
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
 * Compiled with lwIP's arguments; the include path has the folder of api_msg.c.
 */
#include "lwip/sys.h"
#include "lwip/tcp.h"

static err_t post_message(sys_mbox_t *mbox, void *message);
static err_t output_or_later(struct tcp_pcb *connection);

#define sys_mbox_trypost post_message
#define tcp_output       output_or_later

#include "api_msg.c"

#undef tcp_output
#undef sys_mbox_trypost

static err_t output_or_later(struct tcp_pcb *connection)
{
    err_t error = tcp_output(connection);

    return error == ERR_RTE ? ERR_OK : error;
}

/* Under lwIP's core lock, so that no other thread posts meanwhile and a free place stays free. */
static err_t post_message(sys_mbox_t *mbox, void *message)
{
    const void *what = message;
    int end = what == &netconn_closed || what == &netconn_reset || what == &netconn_aborted;

    if (!end && mbox->count + 1 >= mbox->capacity) {
        return ERR_MEM;
    }
    return sys_mbox_trypost(mbox, message);
}
