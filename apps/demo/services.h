/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The demo's small services, which use sockets in one thread: echo (port 7, TCP and UDP; RFC 862)
 * and discard (port 9, TCP; RFC 863).
 *
 * Each TCP service serves SERVICE_CONNECTIONS_MAX connections at once. Further connections are
 * accepted and closed at once. Connections without progress are closed after five minutes,
 * connections whose peer does not answer keepalive probes after a minute and a half.
 */
#ifndef DEMO_SERVICES_H
#define DEMO_SERVICES_H

#include "kernel/result.h"
#include <stdint.h>

#define SERVICE_CONNECTIONS_MAX 8u

struct service_statistics {
    const char *name;
    uint16_t port;
    uint32_t open; /* connections that are open now */
    uint64_t accepted;
    uint64_t refused; /* connections beyond the maximum */
    uint64_t bytes;   /* bytes received */
};

#define SERVICE_COUNT 3u

/* Opens the services' sockets, so that clients can connect. Thread context, after
 * network_start(). */
enum result services_open(void);
/* Serves for ever, after services_open(). Thread context. */
_Noreturn void services_run(void);

/* Copies the statistics. Each counter is exact, but the counters are read at different moments. Any
 * thread. */
void services_statistics(struct service_statistics statistics[SERVICE_COUNT]);

#endif
