/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this application share. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdint.h>
#include <stdio.h>

#define SAMPLE_UNIT 1 /* the interface's, "vtn1" */

/* Starts the services: TCP echo on port 7, iperf 2 and ttcp on 5001, counters on 2020. Each has
 * tasks that serve a connection each, 8, 4 and 2; seven more wait, served when another ends. */
void services_start(void);

/* The shell's commands: the driver's counters; what "ttcp -t" sends; and "watch", which counts the
 * frames for others that pass by, the interface promiscuous. */
int vnetstat_command(int count, char **arguments);
int ttcp_command(int count, char **arguments);
int watch_command(int count, char **arguments);

/* The driver's counters, and what the stack has of mbufs. */
void vnetstat_print(FILE *stream);
void mbufs_print(FILE *stream);

/*
 * Connects to `address` (network byte order) and sends zeros until `bytes` are sent or
 * `milliseconds` have passed (0: no such limit). Bytes sent; *took is in milliseconds. -1: errno
 * says why not.
 */
int64_t send_stream(uint32_t address, uint16_t port, uint64_t bytes, uint32_t milliseconds,
                    uint32_t *took);

#endif
