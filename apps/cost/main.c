/* SPDX-License-Identifier: BSD-2-Clause */
/* Our guest of ./bulkhead bench cost: a thread that sends and receives datagrams as the bench
 * orders. The bench is at 10.77.0.1, port 9000; we are at port 9001. */
#include "kernel/application.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "lwip/sockets.h"
#include "rounds.h"
#include <string.h>

#define BENCH_ADDRESS "10.77.0.1"
#define BENCH_PORT    9000u
#define OWN_PORT      9001u

static struct sockaddr_in address_of(const char *address, uint16_t port)
{
    struct sockaddr_in result;

    memset(&result, 0, sizeof(result));
    result.sin_family = AF_INET;
    result.sin_port = lwip_htons(port);
    result.sin_addr.s_addr = ipaddr_addr(address);
    return result;
}

int application_main(void)
{
    struct sockaddr_in own = address_of("0.0.0.0", OWN_PORT);
    struct sockaddr_in bench = address_of(BENCH_ADDRESS, BENCH_PORT);
    int socket;

    if (network_start() != RESULT_OK) {
        return 1;
    }
    socket = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    if (socket < 0 || lwip_bind(socket, (struct sockaddr *)&own, sizeof(own)) != 0 ||
        lwip_connect(socket, (struct sockaddr *)&bench, sizeof(bench)) != 0) {
        print("cost: no socket\n");
        return 1;
    }
    (void)rounds_serve(socket);
    print("cost: a datagram was not sent, or not received as ordered\n");
    return 1;
}
