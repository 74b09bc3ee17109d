/* SPDX-License-Identifier: BSD-2-Clause */
/* See lwip_stack.h. */
#include "lwip_stack.h"
#include "core_lock.h"
#include "heap.h"
#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/init.h"
#include "lwip/ip4_addr.h"
#include "lwip/sys.h"
#include "netif/ethernet.h"
#include "network_system.h"
#include "receive_window.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <virtio/platform.h>

#include <cmocka.h>

struct stack stack;

const uint8_t stack_mac[6] = {0x02, 0, 0, 0, 0, 2};

/* ---- The system ---- */

void sys_init(void)
{
}

u32_t sys_now(void)
{
    return stack.now;
}

sys_prot_t sys_arch_protect(void)
{
    return 0;
}

void sys_arch_unprotect(sys_prot_t pval)
{
    assert_int_equal(pval, 0);
}

err_t sys_sem_new(sys_sem_t *sem, u8_t count)
{
    *sem = count + 1u;
    return ERR_OK;
}

void sys_sem_signal(sys_sem_t *sem)
{
    *sem += 1;
    if (sem == &stack.interface.wake) {
        stack.signals++;
    }
}

u32_t sys_arch_sem_wait(sys_sem_t *sem, u32_t timeout)
{
    (void)timeout;
    if (*sem <= 1) {
        fail_msg("nobody would wake this thread");
    }
    *sem -= 1;
    return 0;
}

void sys_sem_free(sys_sem_t *sem)
{
    *sem = 0;
}

err_t sys_mutex_new(sys_mutex_t *mutex)
{
    *mutex = 0;
    return ERR_OK;
}

void sys_mutex_lock(sys_mutex_t *mutex)
{
    assert_int_equal(*mutex, 0);
    *mutex = 1;
}

void sys_mutex_unlock(sys_mutex_t *mutex)
{
    assert_int_equal(*mutex, 1);
    *mutex = 0;
}

void sys_mutex_free(sys_mutex_t *mutex)
{
    *mutex = 0;
}

err_t sys_mbox_new(sys_mbox_t *mbox, int size)
{
    (void)size;
    *mbox = (sys_mbox_t){.capacity = stack.mailbox_capacity};
    return ERR_OK;
}

void sys_mbox_free(sys_mbox_t *mbox)
{
    assert_int_equal(mbox->count, 0);
}

err_t sys_mbox_trypost(sys_mbox_t *mbox, void *msg)
{
    if (mbox->count == mbox->capacity) {
        return ERR_MEM;
    }
    mbox->message[mbox->count++] = msg;
    return ERR_OK;
}

err_t sys_mbox_trypost_fromisr(sys_mbox_t *mbox, void *msg)
{
    return sys_mbox_trypost(mbox, msg);
}

void sys_mbox_post(sys_mbox_t *mbox, void *msg)
{
    assert_int_equal(sys_mbox_trypost(mbox, msg), ERR_OK);
}

u32_t sys_arch_mbox_tryfetch(sys_mbox_t *mbox, void **msg)
{
    if (mbox->count == 0) {
        return SYS_MBOX_EMPTY;
    }
    *msg = mbox->message[0];
    mbox->count--;
    for (unsigned i = 0; i < mbox->count; i++) {
        mbox->message[i] = mbox->message[i + 1];
    }
    return 0;
}

u32_t sys_arch_mbox_fetch(sys_mbox_t *mbox, void **msg, u32_t timeout)
{
    (void)timeout;
    return sys_arch_mbox_tryfetch(mbox, msg);
}

sys_thread_t sys_thread_new(const char *name, lwip_thread_fn thread, void *arg, int stacksize,
                            int prio)
{
    (void)name, (void)thread, (void)arg, (void)stacksize, (void)prio;
    fail();
    return NULL;
}

void *network_memory_allocate(size_t bytes)
{
    return malloc(bytes);
}

void network_memory_free(void *memory)
{
    free(memory);
}

virtio_lock_state virtio_platform_lock(void)
{
    return 0;
}

void virtio_platform_unlock(virtio_lock_state state)
{
    (void)state;
}

uint64_t virtio_platform_now(void)
{
    return 0;
}

uint16_t virtio_net_receive_target(const struct virtio_net *net)
{
    (void)net;
    return 0;
}

/* ---- The interface ---- */

static err_t keep_sent(struct netif *netif, struct pbuf *frame)
{
    (void)netif;
    assert_true(frame->tot_len <= STACK_SENT_MAX);
    (void)pbuf_copy_partial(frame, stack.last_sent, frame->tot_len, 0);
    stack.sent++;
    if (stack.on_sent != NULL) {
        stack.on_sent(stack.last_sent, frame->tot_len);
    }
    return ERR_OK;
}

static err_t init_interface(struct netif *netif)
{
    netif->output = etharp_output;
    netif->output_ip6 = ethip6_output;
    netif->linkoutput = keep_sent;
    netif->mtu = 1500;
    netif->hwaddr_len = ETH_HWADDR_LEN;
    memcpy(netif->hwaddr, stack_mac, sizeof(stack_mac));
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_MLD6;
    return ERR_OK;
}

void stack_start(uint32_t blocks)
{
    struct netif *netif = &stack.interface.netif;
    ip4_addr_t address;
    ip4_addr_t mask;

    stack.mailbox_capacity = MAILBOX_MAX;
    network_heap_init();
    lwip_init();
    network_window_init();
    stack.interface.parameters.driver.rx_buffers = 1;
    stack.interface.parameters.rx_pool = blocks - 1;
    assert_true(receive_init(&stack.interface));
    assert_non_null(netif_add_noaddr(netif, &stack.interface, init_interface, ethernet_input));
    if (stack.before_address != NULL) {
        stack.before_address();
    }
    IP4_ADDR(&address, 10, 0, 0, 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    netif_set_addr(netif, &address, &mask, IP4_ADDR_ANY4);
    netif_set_default(netif);
    netif_set_up(netif);
    netif_set_link_up(netif);
    netif_create_ip6_linklocal_address(netif, 1);
    netif_ip6_addr_set_state(netif, 0, IP6_ADDR_PREFERRED);
    stack.sent = 0;
}

struct virtio_net_buffer *stack_buffer(const uint8_t *frame, size_t bytes)
{
    struct virtio_net_buffer *buffer = receive_buffer_take(&stack.interface);

    assert_non_null(buffer);
    assert_true(bytes <= buffer->capacity - VIRTIO_NET_HEADER_BYTES);
    memcpy(buffer->memory + VIRTIO_NET_HEADER_BYTES, frame, bytes);
    buffer->rest = NULL;
    buffer->buffers = 1;
    buffer->frame_bytes = (uint32_t)bytes;
    buffer->checksum = VIRTIO_NET_CHECKSUM_UNKNOWN;
    return buffer;
}

void stack_receive(const uint8_t *frame, size_t bytes)
{
    receive_deliver(&stack.interface, stack_buffer(frame, bytes));
    receive_finish(&stack.interface);
}
