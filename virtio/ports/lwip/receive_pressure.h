/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether memory for received frames is short. The interface's port tells the TCP guard
 * (tcp_guard.c), under the core lock.
 */
#ifndef NET_RECEIVE_PRESSURE_H
#define NET_RECEIVE_PRESSURE_H

#include <stdbool.h>

void network_set_receive_pressure(bool pressure);

#endif
