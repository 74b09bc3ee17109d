/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing a UDP endpoint (kernel/datagram.h) while the device keeps its datagrams. The driver and
 * lwIP are stubs: the device returns a packet when the test says so. */
#include "core_lock.h"
#include "kernel/datagram.h"
#include "kernel/network.h"
#include "kernel_fixture.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"
#include "net/datagram_private.h"

#define DATAGRAMS 5u
#define CLOSE_MAX (NANOSECONDS_PER_SECOND) /* in time of the test machine's clock */

static struct netif netif = {.mtu = 1500};
static struct virtio_netif_packet *held[DATAGRAMS]; /* packets that the device holds */
static unsigned held_count;
static bool works; /* the device returns packets on request */
static int reserved;
static struct udp_pcb endpoint = {.local_port = 9000, .remote_port = 9000};

struct virtio_netif *network_interface(void)
{
    return (struct virtio_netif *)&netif;
}

struct netif *virtio_netif_interface(struct virtio_netif *interface)
{
    return (struct netif *)interface;
}

void virtio_netif_set_bypass(struct virtio_netif *interface,
                             const struct virtio_netif_bypass *bypass)
{
    (void)interface;
    (void)bypass;
}

void virtio_netif_release(struct virtio_net_buffer *buffer)
{
    (void)buffer;
}

bool virtio_netif_reserve(struct virtio_netif *interface, int blocks)
{
    (void)interface;
    reserved += blocks;
    return true;
}

bool virtio_netif_transmit(struct virtio_netif *interface, struct virtio_netif_packet *packet)
{
    (void)interface;
    CHECK(held_count < DATAGRAMS);
    held[held_count++] = packet;
    return true;
}

bool virtio_netif_transmit_copy(struct virtio_netif *interface, struct virtio_netif_packet *packet)
{
    (void)interface;
    (void)packet;
    return false;
}

static void return_one(void)
{
    struct virtio_netif_packet *packet = held[--held_count];

    packet->release(packet);
}

void virtio_netif_reclaim(struct virtio_netif *interface)
{
    (void)interface;
    while (works && held_count != 0) {
        return_one();
    }
}

bool virtio_netif_offers_checksum(const struct virtio_netif *interface)
{
    (void)interface;
    return true;
}

void network_lock(void)
{
}

void network_unlock(void)
{
}

void sys_timeout(u32_t msecs, sys_timeout_handler handler, void *arg)
{
    (void)msecs;
    (void)handler;
    (void)arg;
}

const ip_addr_t ip_addr_any;
const ip_addr_t ip6_addr_any;
struct ip_globals ip_data;

struct udp_pcb *udp_new_ip_type(u8_t type)
{
    (void)type;
    return &endpoint;
}

err_t udp_bind(struct udp_pcb *pcb, const ip_addr_t *ipaddr, u16_t port)
{
    (void)pcb;
    (void)ipaddr;
    (void)port;
    return ERR_OK;
}

err_t udp_connect(struct udp_pcb *pcb, const ip_addr_t *ipaddr, u16_t port)
{
    (void)pcb;
    (void)ipaddr;
    (void)port;
    return ERR_OK;
}

void udp_recv(struct udp_pcb *pcb, udp_recv_fn recv, void *recv_arg)
{
    (void)pcb;
    (void)recv;
    (void)recv_arg;
}

void udp_remove(struct udp_pcb *pcb)
{
    (void)pcb;
}

/* lwIP's send function. The endpoint learns the headers from the frame that the stack builds. */
err_t udp_send(struct udp_pcb *pcb, struct pbuf *p)
{
    static const uint8_t frame[42] = {[12] = 8,    [14] = 0x45, [23] = 17,  [34] = 9000 >> 8,
                                      9000 & 0xff, 9000 >> 8,   9000 & 0xff};

    (void)pcb;
    (void)p;
    datagram_bypass.output(frame, sizeof(frame));
    return ERR_OK;
}

struct pbuf *pbuf_alloc(pbuf_layer layer, u16_t length, pbuf_type type)
{
    static uint8_t data[16];
    static struct pbuf pbuf = {.payload = data};

    (void)layer;
    (void)type;
    CHECK(length <= sizeof(data));
    return &pbuf;
}

u8_t pbuf_free(struct pbuf *p)
{
    (void)p;
    return 1;
}

u16_t pbuf_copy_partial(const struct pbuf *p, void *dataptr, u16_t len, u16_t offset)
{
    (void)p;
    (void)dataptr;
    (void)offset;
    return len;
}

static size_t used_bytes(void)
{
    struct memory_statistics memory;

    memory_statistics(&memory);
    return memory.heap_used_bytes;
}

static size_t used_pages(void)
{
    struct memory_statistics memory;

    memory_statistics(&memory);
    return memory.page_used_bytes;
}

/* Opens an endpoint and sends datagrams. The device holds all of them but the first, which went
 * through lwIP. */
static struct datagram *open_and_send(void)
{
    struct datagram_parameters parameters = {.peer_port = 9000, .local_port = 9000};
    struct datagram *datagram = NULL;

    held_count = 0;
    works = false;
    IP_ADDR4(&parameters.peer, 10, 0, 0, 1);
    CHECK_EQUAL(datagram_open(&datagram, &parameters), RESULT_OK);
    for (unsigned i = 0; i <= DATAGRAMS; i++) {
        CHECK_EQUAL(datagram_send(datagram, "x", 1, DEADLINE_POLL), RESULT_OK);
    }
    CHECK_EQUAL(held_count, DATAGRAMS);
    return datagram;
}

static void close_it(void *datagram)
{
    datagram_close(datagram);
    note("closed");
}

static void init_pulled(void)
{
    size_t pages;
    size_t bytes;
    struct thread *closer;

    heap_free(heap_allocate(1)); /* makes the heap grow before it is measured */
    pages = used_pages();
    bytes = used_bytes();
    for (unsigned round = 0; round < 3; round++) {
        closer = start("closer", INIT_PRIORITY - 1, close_it, open_and_send());
        CHECK_EQUAL(thread_join(closer, time_after(CLOSE_MAX)), RESULT_OK);
        CHECK_NOTES("closed");
        CHECK_EQUAL(reserved, 0);
        while (held_count > 1) { /* the device is reset at last and returns all packets */
            return_one();
        }
        CHECK(used_pages() > pages); /* the device may still read the last one */
        return_one();
        CHECK_EQUAL(used_pages(), pages);
        CHECK_EQUAL(used_bytes(), bytes);
    }
}

static void test_close_returns_if_the_device_was_removed(void **state)
{
    (void)state;
    kernel_run(init_pulled);
}

static void make_it_work(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    works = true;
}

static void init_slow(void)
{
    size_t pages = used_pages();
    struct datagram *datagram = open_and_send();
    struct timer timer;

    timer_init(&timer, make_it_work, NULL);
    timer_arm(&timer, time_after(NANOSECONDS_PER_MILLISECOND));
    datagram_close(datagram);
    CHECK_EQUAL(held_count, 0); /* all were sent before datagram_close() returned */
    CHECK(used_pages() <= pages + PAGE_BYTES * 16);
    CHECK_EQUAL(reserved, 0);
}

static void test_close_waits_for_a_slow_device(void **state)
{
    (void)state;
    kernel_run(init_slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_returns_if_the_device_was_removed),
        cmocka_unit_test(test_close_waits_for_a_slow_device),
    };

    return cmocka_run_group_tests_name("datagram_close", tests, NULL, NULL);
}
