/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the TCP guard (tcp_guard.c) whether memory for received frames is short. Called by the
 * interface's port. Core lock held.
 */
#ifndef NET_RECEIVE_PRESSURE_H
#define NET_RECEIVE_PRESSURE_H

#include <stdbool.h>

void network_set_receive_pressure(bool pressure);

#endif
