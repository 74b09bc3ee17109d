/* SPDX-License-Identifier: BSD-2-Clause */
/* See orders.h. */
#include "orders.h"
#include "kernel/time.h"
#include "lwip/tcpip.h"
#include "lwip/udp.h"
#include "page.h"
#include "violation.h"

static struct timer fault_timer;
static void (*before_fault)(void);

static void violate(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    if (before_fault != NULL) {
        before_fault();
    }
    violation_make();
}

/* lwIP calls this for each datagram. */
static void take_order(void *argument, struct udp_pcb *pcb, struct pbuf *data,
                       const ip_addr_t *address, u16_t port)
{
    struct fault_order order;

    (void)argument;
    (void)pcb;
    (void)address;
    (void)port;
    if (pbuf_copy_partial(data, &order, sizeof(order), 0) == sizeof(order)) {
        timer_arm(&fault_timer, time_after(lwip_ntohl(order.nanoseconds)));
    }
    (void)pbuf_free(data);
}

static bool listen_for_orders(void)
{
    struct udp_pcb *pcb;
    bool is_bound;

    LOCK_TCPIP_CORE();
    pcb = udp_new_ip_type(IPADDR_TYPE_ANY);
    is_bound = pcb != NULL && udp_bind(pcb, IP_ANY_TYPE, FAULT_PORT) == ERR_OK;
    if (is_bound) {
        udp_recv(pcb, take_order, NULL);
    }
    UNLOCK_TCPIP_CORE();
    return is_bound;
}

bool orders_take(void (*before)(void))
{
    before_fault = before;
    timer_init(&fault_timer, violate, NULL);
    return violation_prepare() && listen_for_orders();
}
