/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's iperf server, corrected in two places:
 *
 * Its answer to the loss of a connection is to close it once more, which lwIP has freed already
 * (2.1.3), or to report addresses out of it (2.2.1): a peer decides when to corrupt memory. All
 * that is left to do then is to forget the session.
 *
 * It takes data for repetitions of the client's header wherever as many bytes have come as an old
 * client sends between two of them, and aborts the test if they differ. Where they lie depends
 * on the length of the header, which grew in iperf 2.1, and on how TCP cut the data: only the first
 * one is looked at.
 *
 * Compiled with lwIP's arguments; the include path has the folder of lwiperf.c. Everything runs
 * under lwIP's core lock.
 */
#include "lwip/tcp.h"

static void connection_lost(void *session, err_t error);
static err_t data_received(void *session, struct tcp_pcb *connection, struct pbuf *data,
                           err_t error);

#define tcp_err(connection, function) \
    tcp_err((connection), (function) == NULL ? NULL : connection_lost)
#define tcp_recv(connection, function) \
    tcp_recv((connection), (function) == NULL ? NULL : data_received)

#include "lwiperf.c"

static void connection_lost(void *session, err_t error)
{
    lwiperf_state_tcp_t *lost = session;

    (void)error;
    if (lost != NULL) {
        lwiperf_list_remove(&lost->base);
        LWIPERF_FREE(lwiperf_state_tcp_t, lost);
    }
}

static err_t data_received(void *session, struct tcp_pcb *connection, struct pbuf *data,
                           err_t error)
{
    lwiperf_state_tcp_t *receiver = session;

    if (data == NULL || error != ERR_OK || !receiver->have_settings_buf) {
        return lwiperf_tcp_recv(session, connection, data, error);
    }
    receiver->poll_count = 0;
    receiver->bytes_transferred += data->tot_len;
    tcp_recved(connection, data->tot_len);
    pbuf_free(data);
    return ERR_OK;
}
