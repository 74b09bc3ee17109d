/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network: lwIP on the machine's first virtio network device. Programs use lwIP's own headers
 * (sockets, or the callback interface under LOCK_TCPIP_CORE()), or kernel/datagram.h.
 *
 * Boot arguments:
 *   ip=dhcp | ip=ADDRESS/BITS[,GATEWAY]   IPv4 (default dhcp); IPv6 configures itself
 *   rx_buffers=N       receive buffers with the device (default 8)
 *   rx_pool=N          receive buffers beyond those (default: a TCP window, and some)
 *   tx_ring=N          entries of the transmit ring (default 256)
 *   interrupt_budget=N descriptors an interrupt moves at most (default 64)
 *   net_priority=N     of the bottom-half thread (default 48)
 *   net_measure=1      counts the instructions of each run of the interrupt handler
 *   features_off=MASK  virtio feature bits not to accept
 */
#ifndef KERNEL_NETWORK_H
#define KERNEL_NETWORK_H

#include "kernel/result.h"

struct virtio_netif;

/*
 * Starts lwIP and the interface, and returns; addresses come later, and are printed. Once, thread
 * context. RESULT_NOT_FOUND: no network device, which is said on the console. RESULT_NO_MEMORY,
 * RESULT_INVALID (the device cannot be driven): likewise. The program can go on without a network.
 */
enum result network_start(void);

/* NULL without a network. virtio_netif.h says what it tells. */
struct virtio_netif *network_interface(void);
/* "pci" or "mmio", and how its interrupts arrive: "line" or "MSI-X". "" without a network. */
const char *network_bus(void);
const char *network_interrupts(void);

#endif
