/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The echo service of RFC 862 over TCP, with sockets. Eight tasks, made at the start, serve a
 * connection each: a connection costs no making of a task, which would be its longest round trip.
 * Seven more wait, served when another ends, and still more are refused (lwIP's
 * DEFAULT_ACCEPTMBOX_SIZE). A client that keeps its connection keeps its task.
 */
#ifndef SAMPLE_ECHO_H
#define SAMPLE_ECHO_H

#include <stdbool.h>

/* Clients can connect once it returned true. Task context. */
bool echo_start(void);

#endif
