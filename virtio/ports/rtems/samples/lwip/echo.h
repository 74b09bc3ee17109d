/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The echo service of RFC 862 over TCP, with sockets. Eight tasks each serve one connection at a
 * time. They are created at the start, because the creation of a task would delay the first answer
 * of a connection more than any other. Seven more connections wait until a task is free, and
 * further ones are refused (lwIP's DEFAULT_ACCEPTMBOX_SIZE). A connection occupies its task until
 * the client closes it.
 */
#ifndef SAMPLE_ECHO_H
#define SAMPLE_ECHO_H

#include <stdbool.h>

/* Starts the service. Returns true if clients can connect. Task context. */
bool echo_start(void);

#endif
