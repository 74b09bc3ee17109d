/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of lwIP (2.1.3 or newer). Sizes are for a machine with one megabyte of memory. The TCP
 * buffers, which determine the speed, are options of the build (network_settings.h).
 */
#ifndef NETWORK_LWIPOPTS_H
#define NETWORK_LWIPOPTS_H

#include "heap.h"
#include <libc/internet_checksum.h>

#include "network_settings.h" /* NETWORK_TCP_RECEIVE_BUFFER, NETWORK_TCP_SEND_BUFFER */

/* Operating system. */
#define NO_SYS                        0
#define SYS_LIGHTWEIGHT_PROT          1
#define LWIP_TCPIP_CORE_LOCKING       1
#define LWIP_TCPIP_CORE_LOCKING_INPUT 1
#define LWIP_MPU_COMPATIBLE           0
#define TCPIP_THREAD_NAME             "network"
#define TCPIP_THREAD_PRIO             40
#define TCPIP_THREAD_STACKSIZE        8192
#define TCPIP_MBOX_SIZE               16
#define DEFAULT_THREAD_PRIO           20
#define DEFAULT_THREAD_STACKSIZE      8192
/* Before the receiving thread runs, as many datagrams can arrive as the device has buffers
 * (RECEIVE_BUFFERS_MAX). One place stays free (external/lwip_corrections/netconn.c). */
#define DEFAULT_UDP_RECVMBOX_SIZE 65
#define DEFAULT_RAW_RECVMBOX_SIZE 4
/* Room for all connections, which may be opened before the program accepts the first. A connection
 * that finds no place is reset. One place stays free here too. */
#define DEFAULT_ACCEPTMBOX_SIZE (MEMP_NUM_TCP_PCB + 1)
/* A segment that finds the mailbox full is dropped and retransmitted after a timeout, so there is
 * room for a window of segments of 512 bytes. */
#define DEFAULT_TCP_RECVMBOX_SIZE (TCP_WND / 512 + 2)

/* Memory: objects of a fixed number in pools, packets to transmit in a limited heap (heap.c). */
#define MEM_ALIGNMENT            8
#define MEM_LIBC_MALLOC          1
#define mem_clib_malloc          network_heap_allocate
#define mem_clib_calloc          network_heap_allocate_cleared
#define mem_clib_free            network_heap_free
#define MEMP_MEM_MALLOC          0
#define MEMP_NUM_TCP_PCB         32
#define MEMP_NUM_TCP_PCB_LISTEN  8
#define MEMP_NUM_UDP_PCB         8
#define MEMP_NUM_RAW_PCB         2
#define MEMP_NUM_NETCONN         32
#define MEMP_NUM_NETBUF          40
#define MEMP_NUM_TCP_SEG         (TCP_SND_QUEUELEN > 256 ? TCP_SND_QUEUELEN : 256)
#define MEMP_NUM_PBUF            (TCP_SND_QUEUELEN > 256 ? TCP_SND_QUEUELEN : 256)
#define MEMP_NUM_FRAG_PBUF       16
#define MEMP_NUM_REASSDATA       4
#define MEMP_NUM_ARP_QUEUE       32
#define MEMP_NUM_ND6_QUEUE       32
#define MEMP_NUM_MLD6_GROUP      8
#define MEMP_NUM_TCPIP_MSG_API   8
#define MEMP_NUM_TCPIP_MSG_INPKT 1 /* the bottom half passes frames to lwIP, without messages */
#define MEMP_NUM_SELECT_CB       4
/* Further timers: netif.c, kernel/net/datagram.c, two of kernel/connection/. */
#define MEMP_NUM_SYS_TIMEOUT           (LWIP_NUM_SYS_TIMEOUT_INTERNAL + 4)
#define PBUF_POOL_SIZE                 2 /* received frames lie in the port's receive pool */
#define PBUF_POOL_BUFSIZE              256
#define LWIP_SUPPORT_CUSTOM_PBUF       1
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1 /* they compare TCP_WND with PBUF_POOL */

/* Room in front of each frame for the virtio header (virtio/net.h, VIRTIO_NET_HEADER_BYTES; the
 * port checks that it fits). */
#define PBUF_LINK_ENCAPSULATION_HLEN 16

/* Link and addresses. */
#define LWIP_ARP 1
/* lwIP evicts a known neighbour rather than one whose address it is still resolving. The answers to
 * a flood of SYNs from many addresses (16 half-open connections, tcp_guard.c) must leave room for
 * the neighbours in use. */
#define ARP_TABLE_SIZE 48
#define ARP_QUEUEING   1
/* Several clients behind one gateway can connect at once, before the gateway's address is known.
 * Their answers wait in this queue. A packet that finds no place in it is sent again 3 s later. */
#define ARP_QUEUE_LEN 16
/* The port removes tags of VLAN 0, and drops the frames of other VLANs (receive.c). */
#define ETHARP_SUPPORT_VLAN        0
#define ETH_PAD_SIZE               0
#define LWIP_SINGLE_NETIF          0
#define LWIP_NETIF_API             0
#define LWIP_NETIF_HOSTNAME        1
#define LWIP_NETIF_STATUS_CALLBACK 1
#define LWIP_NETIF_LINK_CALLBACK   1
#define LWIP_NETIF_LOOPBACK        0
#define LWIP_HAVE_LOOPIF           0
/* Restored connections are announced when an address is there (kernel/connection/restore.c). */
#define LWIP_NETIF_EXT_STATUS_CALLBACK 1

/* IPv4. */
#define LWIP_IPV4           1
#define IP_FORWARD          0
#define IP_OPTIONS_ALLOWED  1
#define IP_REASSEMBLY       1
#define IP_REASS_MAX_PBUFS  10
#define IP_REASS_MAXAGE     15
#define IP_FRAG             1
#define IP_SOF_BROADCAST    1
#define LWIP_ICMP           1
#define LWIP_BROADCAST_PING 0
#define LWIP_MULTICAST_PING 0
#define LWIP_IGMP           0
#define LWIP_DHCP           1
/* The address is used as soon as the server grants it, because probing for another station with
 * this address takes most of a second at every boot. */
#define DHCP_DOES_ARP_CHECK      0 /* lwIP 2.1 */
#define LWIP_DHCP_DOES_ACD_CHECK 0 /* lwIP 2.2 */
#define LWIP_ACD                 0
#define LWIP_AUTOIP              0
#define LWIP_DNS                 0

/* IPv6: autoconfiguration by router advertisements, neighbour discovery, multicast listener
 * discovery for the solicited-node addresses. */
#define LWIP_IPV6                     1
#define LWIP_IPV6_FORWARD             0
#define LWIP_IPV6_REASS               1
#define LWIP_IPV6_FRAG                1
#define IPV6_REASS_MAXAGE             15 /* a fragment holds a receive buffer */
#define IPV6_FRAG_COPYHEADER          1  /* pointers of 8 bytes do not fit into a fragment header */
#define LWIP_IPV6_AUTOCONFIG          1
#define LWIP_IPV6_SEND_ROUTER_SOLICIT 1
#define LWIP_IPV6_DHCP6               0
#define LWIP_IPV6_MLD                 1
#define LWIP_ICMP6                    1
#define LWIP_ND6_NUM_NEIGHBORS        32
#define LWIP_ND6_NUM_DESTINATIONS     32

/* Transport. */
#define LWIP_RAW    0
#define LWIP_UDP    1
#define LWIP_TCP    1
#define TCP_MSS     1460
#define TCP_WND     NETWORK_TCP_RECEIVE_BUFFER
#define TCP_SND_BUF NETWORK_TCP_SEND_BUFFER
/* The window field of a TCP header has 16 bits; a larger window is announced scaled (RFC 7323). */
#define LWIP_WND_SCALE (TCP_WND > 65535 || TCP_SND_BUF > 65535)
#define TCP_RCV_SCALE                                                                   \
    ((TCP_WND > 65535) + (TCP_WND > 131070) + (TCP_WND > 262140) + (TCP_WND > 524280) + \
     (TCP_WND > 1048560))
#define TCP_SND_QUEUELEN           (4 * TCP_SND_BUF / TCP_MSS + 8)
#define TCP_SNDLOWAT               (TCP_SND_BUF > 65535 ? 32768 : TCP_SND_BUF / 2)
#define TCP_CALCULATE_EFF_SEND_MSS 1
#define TCP_QUEUE_OOSEQ            1
#define TCP_OOSEQ_MAX_BYTES        TCP_WND
#define TCP_OOSEQ_MAX_PBUFS        (TCP_WND / TCP_MSS + 4)
#define LWIP_TCP_SACK_OUT          1
#define LWIP_TCP_KEEPALIVE         1
#define LWIP_TCP_TIMESTAMPS        0
#define LWIP_TCP_PCB_NUM_EXT_ARGS  2 /* receive_window.c */
/* tcp_guard.c bounds the half-open connections of all listeners together, and drops the oldest.
 * With a backlog for each listener, a flood of SYNs could close a port for all clients. */
#define TCP_LISTEN_BACKLOG         0
#define TCP_DEFAULT_LISTEN_BACKLOG 8

/* Programming interfaces. */
#define LWIP_NETCONN                1
#define LWIP_SOCKET                 1
#define LWIP_SOCKET_SELECT          0
#define LWIP_SOCKET_POLL            1
#define LWIP_COMPAT_SOCKETS         0
#define LWIP_POSIX_SOCKETS_IO_NAMES 0
#define LWIP_SO_RCVTIMEO            1
#define LWIP_SO_SNDTIMEO            1
#define LWIP_ALTCP                  0

/* Checksums: the port decides for each packet which of them software makes and verifies. */
#define LWIP_CHECKSUM_CTRL_PER_NETIF 1
#define LWIP_CHKSUM                  internet_checksum

/* Statistics in 32 bits, for the status page. */
#define LWIP_STATS       1
#define LWIP_STATS_LARGE 1
#define MIB2_STATS       0

#define LWIP_HOOK_FILENAME "lwip_hooks.h"

#endif
