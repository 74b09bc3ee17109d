/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Linux guest of ./bulkhead bench cost: a process that sends and receives datagrams on the
 * bench's orders. Arguments: the IP address and the MAC address of the bench, which the program
 * makes a static neighbour of eth0. The bench uses port 9000, this program port 9001.
 */
#include "rounds.h"
#include <arpa/inet.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define BENCH_PORT 9000
#define OWN_PORT   9001

static bool set_neighbour(int socket, const struct sockaddr_in *bench, const char *mac)
{
    struct arpreq request = {.arp_flags = ATF_PERM | ATF_COM, .arp_dev = "eth0"};
    unsigned octet[6];

    if (sscanf(mac, "%2x:%2x:%2x:%2x:%2x:%2x", &octet[0], &octet[1], &octet[2], &octet[3],
               &octet[4], &octet[5]) != 6) {
        return false;
    }
    memcpy(&request.arp_pa, bench, sizeof(*bench));
    request.arp_ha.sa_family = ARPHRD_ETHER;
    for (unsigned i = 0; i < 6; i++) {
        request.arp_ha.sa_data[i] = (char)octet[i];
    }
    return ioctl(socket, SIOCSARP, &request) == 0;
}

int main(int argument_count, char **arguments)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(OWN_PORT)};
    struct sockaddr_in bench = {.sin_family = AF_INET, .sin_port = htons(BENCH_PORT)};
    int endpoint = socket(AF_INET, SOCK_DGRAM, 0);

    if (argument_count != 3 || inet_pton(AF_INET, arguments[1], &bench.sin_addr) != 1 ||
        endpoint < 0 || !set_neighbour(endpoint, &bench, arguments[2]) ||
        bind(endpoint, (struct sockaddr *)&own, sizeof(own)) != 0 ||
        connect(endpoint, (struct sockaddr *)&bench, sizeof(bench)) != 0) {
        perror("cost: the socket cannot be set up");
        return 1;
    }
    (void)rounds_serve(endpoint);
    perror("cost: a datagram was not sent, or not received as ordered");
    return 1;
}
