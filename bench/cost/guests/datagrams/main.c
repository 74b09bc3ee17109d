/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest of ./bulkhead bench cost: a thread that sends and receives through kernel/datagram.h. */
#include "bench.h"
#include "kernel/application.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "rounds.h"

int application_main(void)
{
    struct datagram_parameters parameters = {
        .peer_port = BENCH_PORT,
        .local_port = OWN_PORT,
        .send_buffers = 64,
        .receive_buffers = 32,
    };
    struct datagram *datagram;

    if (network_start() != RESULT_OK) {
        return 1;
    }
    if (ipaddr_aton(BENCH_ADDRESS, &parameters.peer) == 0 ||
        datagram_open(&datagram, &parameters) != RESULT_OK) {
        print("cost: no endpoint\n");
        return 1;
    }
    (void)rounds_serve(datagram);
    print("cost: a datagram was not sent, or not received as ordered\n");
    return 1;
}
