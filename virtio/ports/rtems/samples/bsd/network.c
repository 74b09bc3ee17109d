/* SPDX-License-Identifier: BSD-2-Clause */
/* The stack's configuration: one virtio device with a fixed address. */
#include "sample.h"
#include "sample_board.h"
#include "virtio_bsdnet.h"
#include <rtems/rtems_bsdnet.h>

static struct rtems_bsdnet_ifconfig interface = {
    .name = "vtn1",
    .attach = virtio_bsdnet_attach,
    .ip_address = "10.77.0.10",
    .ip_netmask = "255.255.255.0",
    .rbuf_count = SAMPLE_RX_BUFFERS,
};

struct rtems_bsdnet_config rtems_bsdnet_config = {
    .ifconfig = &interface,
    .mbuf_bytecount = 512u * 1024u,
    .mbuf_cluster_bytecount = 2048u * 1024u,
    .hostname = "rtems",
    .gateway = "10.77.0.1",
    .tcp_tx_buf_size = SAMPLE_TCP_BUFFER,
    .tcp_rx_buf_size = SAMPLE_TCP_BUFFER,
};

void network_choose_board(void)
{
    interface.drv_ctrl = (void *)sample_board(); /* only read (virtio_bsdnet.h) */
}
