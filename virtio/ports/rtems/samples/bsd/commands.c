/* SPDX-License-Identifier: BSD-2-Clause */
/* The shell's commands (see sample.h). */
#include "counters.h"
#include "sample.h"
#include "virtio_bsdnet.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define TTCP_PORT  5001u
#define TTCP_BYTES (2048u * 8192u) /* ttcp's default: 2048 buffers of 8192 bytes */

void vnetstat_print(FILE *stream)
{
    struct virtio_net_statistics statistics;
    uint32_t restarts;

    if (virtio_bsdnet_statistics(SAMPLE_UNIT, &statistics, &restarts)) {
        counters_print(&statistics, stream);
        (void)fprintf(stream, "restarts %" PRIu32 "\n", restarts);
    } else {
        (void)fputs("the driver is not running\n", stream);
    }
    mbufs_print(stream);
}

int vnetstat_command(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    vnetstat_print(stdout);
    return 0;
}

/* Sends zeros, like "ttcp -t -s", to a "ttcp -r -s" or an iperf server. The other direction needs
 * no command: the service on port 5001 receives from a "ttcp -t". */
int ttcp_command(int count, char **arguments)
{
    uint64_t bytes = count == 3 ? strtoull(arguments[2], NULL, 0) : TTCP_BYTES;
    struct in_addr address;
    uint32_t took;
    int64_t sent;

    if (count < 2 || count > 3 || inet_aton(arguments[1], &address) == 0 || bytes == 0) {
        (void)fputs("usage: ttcp ADDRESS [BYTES]\n", stderr);
        return 2;
    }
    sent = send_stream(address.s_addr, TTCP_PORT, bytes, 0, &took);
    if (sent < 0) {
        (void)fprintf(stderr, "ttcp: %s: %s\n", arguments[1], strerror(errno));
        return 1;
    }
    printf("ttcp-t: %" PRId64 " bytes in %" PRIu32 " ms = %" PRId64 " KB/sec\n", sent, took,
           sent * 1000 / 1024 / (took == 0 ? 1 : took));
    return 0;
}
