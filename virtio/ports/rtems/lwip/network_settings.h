/* SPDX-License-Identifier: BSD-2-Clause */
/* The size of TCP's buffers for each connection and direction: the makefile's TCP_BUFFER. */
#ifndef NETWORK_SETTINGS_H
#define NETWORK_SETTINGS_H

#if NETWORK_TCP_BUFFER < 4096 || NETWORK_TCP_BUFFER > 1048576
#error "TCP_BUFFER must be 4096 to 1048576 bytes"
#endif

#define NETWORK_TCP_RECEIVE_BUFFER NETWORK_TCP_BUFFER
#define NETWORK_TCP_SEND_BUFFER    NETWORK_TCP_BUFFER

#endif
