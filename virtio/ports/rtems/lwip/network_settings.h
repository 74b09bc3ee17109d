/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP's buffers, a connection and direction; the makefile's TCP_BUFFER gives others. */
#ifndef NETWORK_SETTINGS_H
#define NETWORK_SETTINGS_H

#ifndef NETWORK_TCP_BUFFER
#define NETWORK_TCP_BUFFER 65535
#endif
#if NETWORK_TCP_BUFFER < 4096 || NETWORK_TCP_BUFFER > 65535
#error "TCP_BUFFER: 4096 to 65535 bytes"
#endif

#define NETWORK_TCP_RECEIVE_BUFFER NETWORK_TCP_BUFFER
#define NETWORK_TCP_SEND_BUFFER    NETWORK_TCP_BUFFER
#define NETWORK_TCP_WINDOW_SCALING 0
#define NETWORK_TCP_RECEIVE_SCALE  0

#endif
