/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network: lwIP on the machine's first virtio network device. Programs use lwIP's own headers
 * (sockets, or the callback interface under LOCK_TCPIP_CORE()), or kernel/datagram.h.
 *
 * Boot arguments:
 *   ip=dhcp | ip=ADDRESS/BITS[,GATEWAY]   IPv4 (default dhcp); IPv6 configures itself
 *   rx_buffers=N       number of receive buffers exposed to the device (default 8)
 *   rx_pool=N          further receive buffers (default: a TCP window and some more)
 *   tx_ring=N          entries of the transmit ring (default 256)
 *   interrupt_budget=N maximum number of descriptors that an interrupt moves (default 64)
 *   net_deferred=1     an interrupt moves none, but only wakes the bottom half
 *   net_priority=N     priority of the bottom-half thread (default 48)
 *   net_measure=1      counts the instructions of each run of the interrupt handler
 *   features_off=MASK  virtio feature bits to refuse
 *   net_alternative=polled  the polled driver takes the place of the ordinary one when that has
 * failed net_failures=N          so many times (default 3; virtio/driver_choice.h)
 *   net_failure_window=MS   within this time (default 10000)
 *   net_retry=MS            time until the ordinary driver is tried again (default 60000; 0: never)
 *   net_polled_period=US    period of the polled driver (default 1000)
 */
#ifndef KERNEL_NETWORK_H
#define KERNEL_NETWORK_H

#include "kernel/result.h"

struct virtio_netif;

/*
 * Starts lwIP and the interface. Addresses arrive after the return and are printed on the console.
 * Call it once, in thread context. Returns RESULT_OK, RESULT_NOT_FOUND (no network device),
 * RESULT_NO_MEMORY or RESULT_INVALID (the device cannot be driven). A failure is reported on the
 * console, and the program can continue without a network.
 */
enum result network_start(void);

/*
 * Names a function that network_start() calls once, when lwIP executes and before the interface has
 * an address. Listeners that it opens, and connections that it restores (kernel/connection.h), are
 * there before the first segment of a peer. Call it before network_start(). The function is called
 * in thread context, without the core lock.
 */
void network_at_start(void (*prepare)(void));

/* Returns the interface (virtio_netif.h); NULL without a network. */
struct virtio_netif *network_interface(void);
/* Return the bus of the device, "pci" or "mmio", and the kind of its interrupts, "line" or "MSI-X";
 * "" without a network. */
const char *network_bus(void);
const char *network_interrupts(void);

#endif
