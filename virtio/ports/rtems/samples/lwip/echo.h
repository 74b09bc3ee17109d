/* SPDX-License-Identifier: BSD-2-Clause */
/* The echo service of RFC 862 over TCP, with sockets: a task that waits for connections, and one
 * for each. */
#ifndef SAMPLE_ECHO_H
#define SAMPLE_ECHO_H

#include <stdbool.h>

/* Clients can connect once it returned true. Task context. */
bool echo_start(void);

#endif
