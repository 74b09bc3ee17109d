/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's iperf server, corrected in two places:
 *
 * When a connection is lost, lwIP's server closes it once more, although lwIP has freed it already
 * (2.1.3), or reports the addresses in it (2.2.1). So a peer could cause memory corruption. The
 * corrected server only frees the session.
 *
 * lwIP's server expects the client's header again after as many bytes as an old client sends
 * between two headers, and aborts the test if the data differ. The position depends on the length
 * of the header, which grew in iperf 2.1, and on how TCP segmented the data. The corrected server
 * checks only the first header.
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
