/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The equations between the counters of struct virtio_net_statistics, for owners of the driver in
 * tests with cmocka: those on a device in the test process (owner.c) and on QEMU's devices
 * (tests/device/station.c). tests/hostile states them with its own macro, because a fuzzer does not
 * link cmocka.
 */
#ifndef TESTS_VIRTIO_NET_BALANCE_H
#define TESTS_VIRTIO_NET_BALANCE_H

#include "virtio/net.h"

/* cmocka.h needs these headers before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Fails the test unless the driver accounts for every buffer and packet: it holds `buffers` receive
 * buffers and `packets` packets of the owner. */
static inline void net_check_balance(const struct virtio_net_statistics *s, unsigned buffers,
                                     unsigned packets)
{
    assert_int_equal(s->rx_buffers_taken, s->rx_buffers_returned + s->rx_exposed + s->rx_queued);
    assert_int_equal(s->rx_buffers_taken - s->rx_buffers_returned, buffers);
    assert_int_equal(s->tx_accepted,
                     s->tx_returned + s->tx_in_flight + s->tx_queued + s->tx_finished);
    assert_int_equal(s->tx_accepted - s->tx_returned, packets);
}

/* Fails the test unless the driver has returned all buffers and packets. */
static inline void net_check_all_returned(const struct virtio_net_statistics *s)
{
    assert_int_equal(s->rx_buffers_taken, s->rx_buffers_returned);
    assert_int_equal(s->tx_accepted, s->tx_returned);
}

#endif
