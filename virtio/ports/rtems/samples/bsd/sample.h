/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the files of this application. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdint.h>
#include <stdio.h>

#define SAMPLE_UNIT 1 /* unit number of the interface "vtn1" */

/* Chooses the board in the stack's configuration, before the stack is initialized. */
void network_choose_board(void);

/* Starts the services: TCP echo on port 7, iperf 2 and ttcp on port 5001, counters on port 2020.
 * They have 8, 4 and 2 tasks; each task serves one connection at a time. Seven more connections of
 * a service wait until one of its tasks is free. */
void services_start(void);

/* The shell's commands. vnetstat prints the driver's counters. ttcp sends a stream like "ttcp -t".
 * watch makes the interface promiscuous and counts frames for other stations. */
int vnetstat_command(int count, char **arguments);
int ttcp_command(int count, char **arguments);
int watch_command(int count, char **arguments);

/* Prints the driver's counters and the mbuf counts, or the mbuf counts only. */
void vnetstat_print(FILE *stream);
void mbufs_print(FILE *stream);

/*
 * Connects to `address` (network byte order) and sends zeros until `bytes` are sent or
 * `milliseconds` have passed; 0 means no limit. Returns the number of bytes sent, and the time in
 * milliseconds in *took. Returns -1, and sets errno, if it cannot connect.
 */
int64_t send_stream(uint32_t address, uint16_t port, uint64_t bytes, uint32_t milliseconds,
                    uint32_t *took);

#endif
