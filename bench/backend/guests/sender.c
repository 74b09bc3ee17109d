/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of ./bulkhead bench backend that always has frames to send: datagrams of `bytes` bytes
 * of data to port 9 (discard, RFC 863) of the host's end of the tap, as fast as they are taken.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/sockets.h"
#include <string.h>

#define DISCARD_PORT 9u
#define PEER         "10.77.0.1"
#define BYTES_MAX    1472u /* of a datagram in a frame of 1500 bytes */

/* A pause after a datagram that found the queue full, in which the stack frees its packets. */
#define PAUSE (20 * NANOSECONDS_PER_MICROSECOND)

int application_main(void)
{
    static uint8_t datagram[BYTES_MAX];
    size_t bytes = (size_t)boot_argument_number("bytes", BYTES_MAX, 18, BYTES_MAX);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = lwip_htons(DISCARD_PORT)};
    int socket;

    if (network_start() != RESULT_OK) {
        print("FAIL: sender: no network\n");
        return 1;
    }
    socket = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    if (socket < 0 || lwip_inet_pton(AF_INET, PEER, &peer.sin_addr) != 1) {
        print("FAIL: sender: no socket\n");
        return 1;
    }
    print("sender: sends datagrams of %lu bytes\n", (unsigned long)bytes);
    for (;;) {
        if (lwip_sendto(socket, datagram, bytes, 0, (const struct sockaddr *)&peer, sizeof(peer)) <
            0) {
            thread_sleep_until(time_after(PAUSE));
        }
    }
}
