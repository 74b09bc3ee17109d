/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends to a TCP service that discards what it receives, for ever. The boot argument `peer` is its
 * address. */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/sockets.h"
#include <string.h>

#define DISCARD       9u
#define BUFFER_BYTES  16384u
#define ADDRESS_BYTES 16u
#define PAUSE         (10 * NANOSECONDS_PER_MILLISECOND)

static uint8_t buffer[BUFFER_BYTES];

static int connect_to(const struct sockaddr_in *peer)
{
    int socket = lwip_socket(AF_INET, SOCK_STREAM, 0);

    if (socket >= 0 && lwip_connect(socket, (const struct sockaddr *)peer, sizeof(*peer)) != 0) {
        (void)lwip_close(socket);
        socket = -1;
    }
    return socket;
}

static void send_until_it_fails(int socket)
{
    while (lwip_write(socket, buffer, sizeof(buffer)) > 0) {
    }
    (void)lwip_close(socket);
}

int application_main(void)
{
    char address[ADDRESS_BYTES];
    struct sockaddr_in peer;

    memset(&peer, 0, sizeof(peer));
    peer.sin_family = AF_INET;
    peer.sin_port = lwip_htons(DISCARD);
    if (!boot_argument("peer", address, sizeof(address)) || network_start() != RESULT_OK) {
        print("FAIL: cache-tcp: no peer, or no network\n");
        return 1;
    }
    peer.sin_addr.s_addr = ipaddr_addr(address);
    for (;;) {
        int socket = connect_to(&peer);

        if (socket >= 0) {
            print("cache-tcp: sends\n");
            send_until_it_fails(socket);
        }
        thread_sleep_until(time_after(PAUSE)); /* the peer may not be up */
    }
}
