/* SPDX-License-Identifier: BSD-2-Clause */
/* See netif_world.h. */
#include "netif_world.h"
#include "core_lock.h"
#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/mld6.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"
#include "netif_private.h"
#include "network_system.h"
#include "receive_window.h"
#include "virtio/net_control.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world world;

struct virtio_network_device {
    struct virtio_transport transport;
};

struct virtio_network_device world_device;

void world_begin(enum step failing, bool keeps_memory)
{
    memset(&world, 0, sizeof(world));
    world.failing = failing;
    world.keeps_memory = keeps_memory;
    world.mtu = 1500;
}

void world_run_bottom_half(void)
{
    if (setjmp(world.asleep) == 0) {
        world.thread(world.thread_argument);
    }
}

/* ---- The system ---- */

void *network_memory_allocate(size_t bytes)
{
    world.allocations++;
    return malloc(bytes);
}

void network_memory_free(void *memory)
{
    assert_non_null(memory);
    world.allocations--;
    free(memory);
}

void network_yield(void)
{
}

void network_step_begins(void)
{
}

void network_bottom_half_begins(void)
{
}

uint64_t virtio_platform_now(void)
{
    return world.now;
}

void virtio_platform_log(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    assert_in_range(vsnprintf(world.line, sizeof(world.line), format, values), 1,
                    sizeof(world.line) - 1);
    va_end(values);
    world.lines++;
}

err_t sys_sem_new(sys_sem_t *semaphore, u8_t count)
{
    *semaphore = &world.wakes;
    if (world.failing == SEMAPHORE) {
        return ERR_MEM;
    }
    world.wakes = count;
    world.semaphores++;
    return ERR_OK;
}

void sys_sem_free(sys_sem_t *semaphore)
{
    assert_ptr_equal(*semaphore, &world.wakes);
    world.semaphores--;
}

void sys_sem_signal(sys_sem_t *semaphore)
{
    assert_ptr_equal(*semaphore, &world.wakes);
    world.wakes++;
}

u32_t sys_arch_sem_wait(sys_sem_t *semaphore, u32_t timeout)
{
    assert_ptr_equal(*semaphore, &world.wakes);
    assert_int_equal(timeout, 0);
    assert_false(world.locked);
    if (world.wakes == 0) {
        longjmp(world.asleep, 1);
    }
    world.wakes = 0;
    return 0;
}

sys_thread_t sys_thread_new(const char *name, lwip_thread_fn thread, void *arg, int stacksize,
                            int prio)
{
    (void)stacksize;
    (void)prio;
    assert_non_null(name);
    if (world.failing == THREAD) {
        return NULL;
    }
    world.thread = thread;
    world.thread_argument = arg;
    return &world;
}

sys_prot_t sys_arch_protect(void)
{
    return 0;
}

void sys_arch_unprotect(sys_prot_t pval)
{
    assert_int_equal(pval, 0);
}

void sys_msleep(u32_t ms)
{
    assert_false(world.locked);
    world.now += ms * UINT64_C(1000000);
    world.slept += ms;
}

void sys_timeout(u32_t msecs, sys_timeout_handler handler, void *arg)
{
    (void)msecs;
    assert_non_null(handler);
    assert_non_null(arg);
    world.timeouts++;
}

void sys_untimeout(sys_timeout_handler handler, void *argument)
{
    assert_non_null(handler);
    assert_non_null(argument);
    assert_true(world.locked);
    world.timeouts--;
}

/* ---- lwIP, and the port's other files ---- */

void network_lock(void)
{
    assert_false(world.locked);
    world.locked = true;
}

void network_unlock(void)
{
    assert_true(world.locked);
    world.locked = false;
}

void network_set_release(void (*release)(void *context), void *context)
{
    assert_true((release == NULL) == (context == NULL));
    world.release_set = release != NULL;
}

void network_window_share(u32_t bytes)
{
    (void)bytes;
}

struct netif *netif_add_noaddr(struct netif *netif, void *state, netif_init_fn init,
                               netif_input_fn input)
{
    assert_true(world.locked);
    if (world.failing == INTERFACE) {
        return NULL;
    }
    netif->state = state;
    netif->input = input;
    assert_int_equal(init(netif), ERR_OK);
    world.interfaces++;
    return netif;
}

void netif_remove(struct netif *netif)
{
    assert_non_null(netif);
    assert_true(world.locked);
    world.interfaces--;
}

void netif_set_link_up(struct netif *netif)
{
    netif->flags |= NETIF_FLAG_LINK_UP;
}

void netif_set_link_down(struct netif *netif)
{
    netif->flags &= (u8_t)~NETIF_FLAG_LINK_UP;
}

err_t etharp_output(struct netif *netif, struct pbuf *q, const ip4_addr_t *ipaddr)
{
    (void)netif, (void)q, (void)ipaddr;
    return ERR_OK;
}

err_t etharp_request(struct netif *netif, const ip4_addr_t *ipaddr)
{
    (void)netif, (void)ipaddr;
    assert_true(world.locked);
    world.announcements++;
    return ERR_OK;
}

err_t ethip6_output(struct netif *netif, struct pbuf *q, const ip6_addr_t *ip6addr)
{
    (void)netif, (void)q, (void)ip6addr;
    return ERR_OK;
}

err_t ethernet_input(struct pbuf *p, struct netif *netif)
{
    (void)p, (void)netif;
    return ERR_OK;
}

void mld6_report_groups(struct netif *netif)
{
    (void)netif;
    assert_true(world.locked);
    world.announcements++;
}

const ip_addr_t ip_addr_any;

u32_t lwip_htonl(u32_t x)
{
    return __builtin_bswap32(x);
}

void receive_deliver(struct virtio_netif *interface, struct virtio_net_buffer *buffer)
{
    (void)interface, (void)buffer;
    fail();
}

void receive_finish(struct virtio_netif *interface)
{
    (void)interface;
}

void receive_relieve(struct virtio_netif *interface)
{
    (void)interface;
}

void received_add_up(void)
{
}

void received_read(const struct virtio_netif *interface, struct virtio_netif_received *received)
{
    assert_non_null(interface);
    *received = (struct virtio_netif_received){0};
}

/* One block and one packet are enough for these tests. */
bool receive_init(struct virtio_netif *interface)
{
    interface->blocks_memory = world.failing == BLOCKS ? NULL : network_memory_allocate(64);
    interface->blocks_count = 1;
    interface->blocks_free = 1;
    return interface->blocks_memory != NULL;
}

void receive_destroy(struct virtio_netif *interface)
{
    if (interface->blocks_memory != NULL && interface->blocks_free == interface->blocks_count) {
        network_memory_free(interface->blocks_memory);
    }
}

void receive_grow(struct virtio_netif *interface)
{
    assert_ptr_equal(interface->net, &world.net);
}

struct virtio_net_buffer *receive_buffer_take(void *context)
{
    struct virtio_netif *interface = context;

    interface->blocks_free--;
    return interface->blocks_memory;
}

void receive_buffer_return(void *context, struct virtio_net_buffer *buffer)
{
    struct virtio_netif *interface = context;

    assert_ptr_equal(buffer, interface->blocks_memory);
    interface->blocks_free++;
}

bool transmit_init(struct virtio_netif *interface)
{
    interface->packets_memory = world.failing == PACKETS ? NULL : network_memory_allocate(64);
    interface->packets_free = TRANSMIT_PACKETS;
    return interface->packets_memory != NULL;
}

void transmit_destroy(struct virtio_netif *interface)
{
    if (interface->packets_memory != NULL) {
        network_memory_free(interface->packets_memory);
    }
}

err_t transmit_frame(struct netif *netif, struct pbuf *frame)
{
    (void)netif, (void)frame;
    return ERR_OK;
}

void transmit_take_back(struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
}

void transmit_release(void *context)
{
    assert_non_null(context);
}

void stream_begin(struct virtio_netif *interface)
{
    assert_ptr_equal(interface->net, &world.net);
}

void stream_await(struct virtio_netif *interface)
{
    assert_ptr_equal(interface->net, &world.net);
    assert_false(world.locked);
}

/* ---- The alternative driver ---- */

void alternative_prepare(struct virtio_netif *interface)
{
    interface->choice.failures = interface->parameters.alternative.failures;
    interface->choice.window = interface->parameters.alternative.window;
}

bool alternative_run(struct virtio_netif *interface, const char **reason)
{
    assert_false(world.locked);
    assert_null(interface->net);
    assert_int_equal(world.drivers, 0);
    *reason = "the polled driver does not start";
    world.polled_runs++;
    if (world.polled_worked) {
        virtio_choice_return(&interface->choice);
    } else {
        virtio_choice_failed(&interface->choice, world.now, 0);
    }
    return !world.polled_fails;
}

uint64_t virtio_polled_features(const struct virtio_polled *polled)
{
    (void)polled;
    fail();
    return 0;
}

void virtio_polled_statistics(const struct virtio_polled *polled,
                              struct virtio_net_statistics *statistics)
{
    (void)polled, (void)statistics;
    fail();
}

/* ---- The driver and its device ---- */

struct virtio_net *virtio_net_create(struct virtio_transport *transport,
                                     const struct virtio_net_parameters *parameters,
                                     const struct virtio_net_operations *operations, void *context,
                                     const char **reason)
{
    assert_ptr_equal(transport, &world_device.transport);
    assert_int_equal(parameters->rx_buffers, 8);
    assert_int_equal(parameters->receive_bytes, 1918);
    assert_int_equal(parameters->mtu_max, 9000);
    world.net = (struct virtio_net){.operations = operations, .context = context};
    world.net.exposed = operations->receive_buffer(context);
    if (world.failing == DRIVER || world.fails != 0) {
        world.fails -= world.fails != 0 ? 1u : 0u;
        if (!world.keeps_memory) {
            operations->return_buffer(context, world.net.exposed);
        }
        *reason = "the device does not work";
        return NULL;
    }
    world.drivers++;
    world.broken = NULL;
    return &world.net;
}

bool virtio_net_stop(struct virtio_net *net)
{
    assert_false(world.connected);
    assert_false(world.locked);
    if (world.keeps_memory) {
        return false;
    }
    net->operations->return_buffer(net->context, net->exposed);
    return true;
}

void virtio_net_free(struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    world.drivers--;
}

struct virtio_transport *virtio_network_transport(struct virtio_network_device *device)
{
    return &device->transport;
}

bool virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net)
{
    assert_ptr_equal(device, &world_device);
    world.connected = net != NULL && world.failing != INTERRUPT;
    return net == NULL || world.connected;
}

void virtio_network_rearm(struct virtio_network_device *device)
{
    assert_ptr_equal(device, &world_device);
}

bool virtio_network_restore(struct virtio_network_device *device)
{
    assert_ptr_equal(device, &world_device);
    return true;
}

bool virtio_network_probe(struct virtio_network_device *device, const char **reason)
{
    assert_ptr_equal(device, &world_device);
    *reason = NULL;
    return true;
}

bool virtio_net_interrupt(struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    return false;
}

bool virtio_net_bottom_half(struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    return false;
}

bool virtio_net_poll(struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    return false;
}

struct virtio_net_buffer *virtio_net_receive(struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    return NULL;
}

uint64_t virtio_net_features(const struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    return VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_RX | VIRTIO_NET_F_CTRL_MAC_ADDR;
}

uint16_t virtio_net_mtu(const struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    return world.mtu;
}

const char *virtio_net_mtu_unused(const struct virtio_net *net, uint16_t *offered)
{
    assert_ptr_equal(net, &world.net);
    *offered = world.mtu_offered;
    return world.mtu_unused;
}

bool virtio_net_mac(const struct virtio_net *net, uint8_t mac[6])
{
    assert_ptr_equal(net, &world.net);
    memset(mac, 2, 6);
    return true;
}

bool virtio_net_link_up(struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    return true;
}

bool virtio_net_link_changed(struct virtio_net *net)
{
    bool changed = world.changed;

    assert_ptr_equal(net, &world.net);
    world.changed = false;
    return changed;
}

void virtio_net_watch(struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
}

const char *virtio_net_broken(const struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    return world.broken;
}

uint32_t virtio_net_speed(const struct virtio_net *net, bool *full_duplex)
{
    assert_ptr_equal(net, &world.net);
    *full_duplex = true;
    return 0;
}

void virtio_net_statistics(struct virtio_net *net, struct virtio_net_statistics *statistics)
{
    assert_ptr_equal(net, &world.net);
    *statistics = (struct virtio_net_statistics){0};
}

/* A command waits up to a second for the device's answer. */
static enum virtio_net_answer command(const struct virtio_net *net)
{
    assert_ptr_equal(net, &world.net);
    assert_false(world.locked);
    world.commands++;
    return VIRTIO_NET_DONE;
}

enum virtio_net_answer virtio_net_set_filter(struct virtio_net *net, const uint8_t (*address)[6],
                                             unsigned unicasts, unsigned multicasts)
{
    assert_non_null(address);
    assert_int_equal(unicasts, 0);
    world.groups = (uint8_t)multicasts;
    return command(net);
}

enum virtio_net_answer virtio_net_set_mac(struct virtio_net *net, const uint8_t mac[6])
{
    assert_non_null(mac);
    return command(net);
}

enum virtio_net_answer virtio_net_set_receive_mode(struct virtio_net *net,
                                                   enum virtio_net_receive_mode mode, bool on)
{
    if (mode == VIRTIO_NET_PROMISCUOUS) {
        world.promiscuous_off = !on;
    }
    return command(net);
}

bool virtio_net_announce_asked(struct virtio_net *net)
{
    (void)command(net);
    return world.announce;
}
