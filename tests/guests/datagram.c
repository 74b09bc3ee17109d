/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Echoes datagrams from port 9000 of the boot argument `peer`, through kernel/datagram.h. There are
 * three commands. "statistics" is answered with the endpoint's counters, "pause" stops receiving
 * for half a second, and "close" closes the endpoint and opens it again. TCP listens on the same
 * port, so that all of lwIP's timers can run at the same time.
 */
#include "kernel/datagram.h"
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/sockets.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PORT  9000u
#define PAUSE (NANOSECONDS_PER_SECOND / 2)

static uint8_t data[9000]; /* a datagram of the largest MTU, and more */

static bool is_command(size_t bytes, const char *command)
{
    return bytes == strlen(command) && memcmp(data, command, bytes) == 0;
}

static size_t describe(const struct datagram *datagram)
{
    struct datagram_statistics all;

    datagram_statistics(datagram, &all);
    return (size_t)snprintf((char *)data, sizeof(data),
                            "sent=%llu sent_by_stack=%llu received=%llu received_by_stack=%llu "
                            "dropped=%llu damaged=%llu",
                            (unsigned long long)all.sent, (unsigned long long)all.sent_by_stack,
                            (unsigned long long)all.received,
                            (unsigned long long)all.received_by_stack,
                            (unsigned long long)all.dropped, (unsigned long long)all.damaged);
}

/* Handles one datagram. Returns false if the endpoint is to be closed and opened. */
static bool serve(struct datagram *datagram)
{
    size_t bytes = 0;

    if (datagram_receive(datagram, data, sizeof(data), &bytes, DEADLINE_NONE) != RESULT_OK) {
        print("datagram: receiving failed\n");
        return false;
    }
    if (is_command(bytes, "pause")) {
        thread_sleep_until(time_after(PAUSE));
    } else if (is_command(bytes, "statistics")) {
        bytes = describe(datagram);
    } else if (is_command(bytes, "close")) {
        return false;
    }
    /* A datagram of more than one frame is not echoed. */
    if (bytes <= datagram_bytes_max(datagram) &&
        datagram_send(datagram, data, bytes, DEADLINE_NONE) != RESULT_OK) {
        print("datagram: %zu bytes could not be sent\n", bytes);
    }
    return true;
}

static bool refused(const struct datagram_parameters *parameters, enum result wanted)
{
    struct datagram *datagram;
    enum result result = datagram_open(&datagram, parameters);

    if (result != wanted) {
        print("FAIL: %s, not %s\n", result_text(result), result_text(wanted));
    }
    return result == wanted;
}

static bool listen_for_tcp(void)
{
    struct sockaddr_in own;
    int socket = lwip_socket(AF_INET, SOCK_STREAM, 0);

    memset(&own, 0, sizeof(own));
    own.sin_family = AF_INET;
    own.sin_port = lwip_htons(PORT);
    return socket >= 0 && lwip_bind(socket, (struct sockaddr *)&own, sizeof(own)) == 0 &&
           lwip_listen(socket, 1) == 0;
}

int application_main(void)
{
    struct datagram_parameters parameters = {.peer_port = PORT, .local_port = PORT};
    struct datagram_parameters wrong;
    struct datagram *datagram;
    char peer[64] = "";

    if (network_start() != RESULT_OK || !boot_argument("peer", peer, sizeof(peer)) ||
        ipaddr_aton(peer, &parameters.peer) == 0) {
        print("FAIL: no network, or no peer=ADDRESS\n");
        return 1;
    }
    if (!listen_for_tcp()) {
        print("FAIL: no TCP\n");
        return 1;
    }
    wrong = parameters;
    wrong.peer_port = 0;
    if (!refused(&wrong, RESULT_INVALID)) {
        return 1;
    }
    wrong = parameters;
    wrong.receive_buffers = 60000; /* more than there are blocks */
    if (!refused(&wrong, RESULT_NO_MEMORY)) {
        return 1;
    }
    for (;;) {
        if (datagram_open(&datagram, &parameters) != RESULT_OK) {
            print("FAIL: no endpoint\n");
            return 1;
        }
        if (!refused(&parameters, RESULT_BUSY)) {
            return 1;
        }
        print("datagram: open\n");
        while (serve(datagram)) {
        }
        datagram_close(datagram);
    }
}
