/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The demo: a status page (HTTP, port 80), echo (7), discard (9) and an iperf 2 server (5001).
 */
#include "http.h"
#include "kernel/application.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/apps/lwiperf.h"
#include "lwip/tcpip.h"
#include "services.h"

/* Called by lwIP's iperf at the end of each session. Core lock held. */
static void report_iperf(void *argument, enum lwiperf_report_type type, const ip_addr_t *local,
                         u16_t local_port, const ip_addr_t *remote, u16_t remote_port, u32_t bytes,
                         u32_t milliseconds, u32_t kilobits_per_second)
{
    (void)argument;
    (void)local;
    (void)local_port;
    (void)remote;
    (void)remote_port;
    (void)kilobits_per_second;
    if (milliseconds != 0 && (type == LWIPERF_TCP_DONE_SERVER || type == LWIPERF_TCP_DONE_CLIENT)) {
        print("iperf: %s %u bytes in %u ms\n",
              type == LWIPERF_TCP_DONE_SERVER ? "received" : "sent", bytes, milliseconds);
    }
}

static void start_servers(void)
{
    void *iperf;

    LOCK_TCPIP_CORE();
    iperf = lwiperf_start_tcp_server(IP_ANY_TYPE, LWIPERF_TCP_PORT_DEFAULT, report_iperf, NULL);
    UNLOCK_TCPIP_CORE();
    if (iperf == NULL) {
        print("demo: the iperf server cannot be started\n");
    }
}

int application_main(void)
{
    network_at_start(http_serve);
    if (network_start() == RESULT_OK) {
        start_servers();
        if (services_open() == RESULT_OK) {
            print("demo: http on 80, echo on 7 (tcp, udp), discard on 9, iperf 2 on 5001\n");
            services_run();
        }
    }
    for (;;) {
        thread_sleep_until(DEADLINE_NONE);
    }
}
