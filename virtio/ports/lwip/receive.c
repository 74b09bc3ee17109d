/* SPDX-License-Identifier: BSD-2-Clause */
/* Reception: the receive pool, and the delivery of frames to lwIP (see virtio_netif.h). */
#include "lwip/inet_chksum.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/ip6.h"
#include "netif/ethernet.h"
#include "netif_private.h"
#include "network_system.h"
#include "receive_pressure.h"
#include "virtio/vlan.h"
#include <string.h>

/* While at most this many blocks are free, frames are copied, so that the interrupt handler still
 * finds a free block for each used one that it takes from the ring. */
#define RESERVE_BLOCKS 8u

/* Limits of the memory for copies of received frames. Above COPIES_PRESSURE_BYTES, connections with
 * unread data receive no more; at the second limit, frames are dropped. The first limit is the
 * memory that TCP windows announce (receive_window.h). The difference is room for a full segment of
 * every connection, for datagrams and for fragments. */
#define COPIES_PRESSURE_BYTES LWIP_MAX(32u * 1024u, (uint32_t)TCP_WND)
#define COPIES_MAX_BYTES      (COPIES_PRESSURE_BYTES + (MEMP_NUM_TCP_PCB + 48u) * 1600u)

#define CHECKS_TRANSPORT (NETIF_CHECKSUM_CHECK_TCP | NETIF_CHECKSUM_CHECK_UDP)

/* A copy of a received frame, in memory of the frame's size. */
struct received_copy {
    struct pbuf_custom custom; /* first, because lwIP returns a pointer to it */
    struct virtio_netif *interface;
    uint32_t bytes;
    uint8_t frame[];
};

/* The driver calls these two functions with its lock held. */

struct virtio_net_buffer *receive_buffer_take(void *context)
{
    struct virtio_netif *interface = context;
    struct virtio_net_buffer *buffer = interface->blocks;

    if (buffer == NULL) {
        interface->ring_short = true;
        return NULL;
    }
    interface->blocks = buffer->next;
    interface->blocks_free--;
    interface->blocks_lowest = LWIP_MIN(interface->blocks_lowest, interface->blocks_free);
    return buffer;
}

void receive_buffer_return(void *context, struct virtio_net_buffer *buffer)
{
    struct virtio_netif *interface = context;

    LWIP_ASSERT("receive block freed twice", buffer != interface->blocks);
    buffer->next = interface->blocks;
    interface->blocks = buffer;
    interface->blocks_free++;
}

/* Returns a block to the pool. Any thread. */
static void free_block(struct receive_block *block)
{
    struct virtio_netif *interface = block->interface;
    virtio_lock_state state = virtio_platform_lock();
    bool ring_short = interface->ring_short;

    receive_buffer_return(interface, &block->buffer);
    interface->ring_short = false;
    virtio_platform_unlock(state);
    if (ring_short) {
        sys_sem_signal(&interface->wake); /* the bottom half refills */
    }
}

/* pbuf_free() calls these two functions, in any thread. */
static void free_block_of(struct pbuf *pbuf)
{
    free_block((struct receive_block *)pbuf);
}

static void free_copy(struct pbuf *pbuf)
{
    struct received_copy *copy = (struct received_copy *)pbuf;

    SYS_ARCH_DEC(copy->interface->copies_bytes, copy->bytes);
    mem_free(copy);
}

/* Adds `count` free blocks to the pool. Returns the memory that they lie in, NULL if memory is
 * exhausted. */
static void *add_blocks(struct virtio_netif *interface, uint32_t count)
{
    void *memory = network_memory_allocate((count + (size_t)1) * RECEIVE_BLOCK_BYTES);
    uintptr_t storage = (uintptr_t)memory;

    if (memory == NULL) {
        return NULL;
    }
    storage = (storage + RECEIVE_BLOCK_BYTES - 1) & ~(uintptr_t)(RECEIVE_BLOCK_BYTES - 1);
    for (uint32_t i = count; i > 0; i--) {
        struct receive_block *block =
            (struct receive_block *)(storage + (i - 1) * RECEIVE_BLOCK_BYTES);

        *block = (struct receive_block){
            .custom.custom_free_function = free_block_of,
            .buffer = {.memory = (uint8_t *)block + RECEIVE_BLOCK_OFFSET,
                       .capacity = (uint32_t)RECEIVE_BLOCK_ROOM},
            .interface = interface,
        };
        free_block(block);
    }
    interface->blocks_count += count;
    return memory;
}

bool receive_init(struct virtio_netif *interface)
{
    interface->blocks_for_device = interface->parameters.driver.rx_buffers;
    interface->blocks_memory =
        add_blocks(interface, interface->blocks_for_device + interface->parameters.rx_pool);
    interface->blocks_lowest = interface->blocks_count;
    return interface->blocks_memory != NULL;
}

void receive_grow(struct virtio_netif *interface)
{
    uint32_t wanted = virtio_net_receive_target(interface->net);

    if (wanted <= interface->blocks_for_device) {
        return;
    }
    /* If memory is exhausted, the driver takes the blocks of the existing pool, and frames are
     * copied earlier. */
    (void)add_blocks(interface, wanted - interface->blocks_for_device);
    interface->blocks_for_device = wanted;
}

void receive_destroy(struct virtio_netif *interface)
{
    if (interface->blocks_memory != NULL && interface->blocks_free == interface->blocks_count) {
        network_memory_free(interface->blocks_memory);
    }
}

static struct receive_block *block_of(struct virtio_net_buffer *buffer)
{
    return (struct receive_block *)((uintptr_t)buffer - offsetof(struct receive_block, buffer));
}

void virtio_netif_release(struct virtio_net_buffer *buffer)
{
    free_block(block_of(buffer));
}

static bool pool_low(const struct virtio_netif *interface)
{
    return interface->blocks_free <= RESERVE_BLOCKS + interface->reserved;
}

void receive_relieve(struct virtio_netif *interface)
{
    bool low = pool_low(interface);

    network_set_receive_pressure(low && interface->copies_bytes > COPIES_PRESSURE_BYTES);
    if (low) {
        for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
            if (pcb->ooseq != NULL) {
                tcp_free_ooseq(pcb);
            }
        }
    }
}

/* Returns memory for a copy of a frame, NULL if the memory for copies is used up. */
static struct pbuf *allocate_copy(struct virtio_netif *interface, uint16_t bytes)
{
    uint32_t size = (uint32_t)sizeof(struct received_copy) + bytes;
    struct received_copy *copy;

    if (interface->copies_bytes + size > COPIES_MAX_BYTES) {
        return NULL;
    }
    copy = mem_malloc(size);
    if (copy == NULL) {
        return NULL;
    }
    copy->custom.custom_free_function = free_copy;
    copy->interface = interface;
    copy->bytes = size;
    SYS_ARCH_INC(interface->copies_bytes, size);
    interface->copied++;
    return pbuf_alloced_custom(PBUF_RAW, bytes, PBUF_REF, &copy->custom, copy->frame, bytes);
}

/* Replaces the blocks of a frame by a copy, so that they are free again. Returns NULL if the memory
 * for copies is used up. */
static struct pbuf *replace_by_copy(struct virtio_netif *interface, struct pbuf *frame)
{
    struct pbuf *copy = allocate_copy(interface, frame->tot_len);

    if (copy != NULL) {
        (void)pbuf_copy_partial(frame, copy->payload, frame->tot_len, 0);
    }
    pbuf_free(frame);
    return copy;
}

/* Returns the protocol directly behind the IP header of an unfragmented packet, 0 for other frames.
 */
static uint8_t whole_protocol(const uint8_t *frame, uint16_t bytes)
{
    const struct eth_hdr *ethernet = (const struct eth_hdr *)frame;
    const void *packet = frame + SIZEOF_ETH_HDR;

    if (bytes < SIZEOF_ETH_HDR + IP_HLEN) {
        return 0;
    }
    if (ethernet->type == PP_HTONS(ETHTYPE_IP)) {
        const struct ip_hdr *ip = packet;

        return (IPH_OFFSET(ip) & PP_HTONS(IP_OFFMASK | IP_MF)) == 0 ? IPH_PROTO(ip) : 0;
    }
    if (ethernet->type == PP_HTONS(ETHTYPE_IPV6) && bytes >= SIZEOF_ETH_HDR + IP6_HLEN) {
        return IP6H_NEXTH((const struct ip6_hdr *)packet);
    }
    return 0;
}

/* Returns true if the frame is an unfragmented IP packet with TCP or UDP directly behind the IP
 * header. Only then does the checksum that the device has verified cover what lwIP would verify. */
static bool has_whole_transport(const uint8_t *frame, uint16_t bytes)
{
    uint8_t protocol = whole_protocol(frame, bytes);

    return protocol == IP_PROTO_TCP || protocol == IP_PROTO_UDP;
}

/* Completes the partial checksum of a frame, as a device would do (VIRTIO 1.3, 5.1.6.2). If the
 * place of the checksum is not in the first piece, lwIP drops the frame as damaged. */
static void complete_checksum(struct pbuf *frame, uint16_t start, uint16_t offset)
{
    uint16_t sum;

    if ((uint32_t)start + offset + sizeof(sum) > frame->len) {
        return;
    }
    (void)pbuf_remove_header(frame, start);
    sum = inet_chksum_pbuf(frame);
    memcpy((uint8_t *)frame->payload + offset, &sum, sizeof(sum));
    (void)pbuf_add_header_force(frame, start);
}

/* Returns true if lwIP need not verify the transport checksum of a frame. `first`: the frame's
 * first buffer. */
static bool is_trusted(const struct virtio_net_buffer *first, struct pbuf *frame)
{
    if (first->checksum == VIRTIO_NET_CHECKSUM_UNKNOWN) {
        return false;
    }
    if (has_whole_transport(frame->payload, frame->len)) {
        return true;
    }
    if (first->checksum == VIRTIO_NET_CHECKSUM_PARTIAL) {
        complete_checksum(frame, first->checksum_start, first->checksum_offset);
    }
    return false;
}

static void input(struct netif *netif, struct pbuf *frame)
{
    if (ethernet_input(frame, netif) != ERR_OK) {
        pbuf_free(frame);
    }
}

/* Passes a frame to lwIP, which verifies the transport checksum unless `checked`. */
static void deliver(void *context, struct pbuf *frame, bool checked, uint32_t frames)
{
    struct virtio_netif *interface = context;
    struct netif *netif = &interface->netif;
    struct received_join join;

    if (checked) {
        netif->chksum_flags &= (u16_t)~CHECKS_TRANSPORT;
    } else {
        netif->chksum_flags |= CHECKS_TRANSPORT;
    }
    interface->passed += frames;
    if (frames == 1) {
        input(netif, frame);
        return;
    }
    received_join_begin(&join, frames);
    input(netif, frame);
    received_join_end(&join);
}

static struct pbuf *block_pbuf(struct virtio_net_buffer *buffer, uint8_t *data)
{
    struct receive_block *block = block_of(buffer);
    uint16_t bytes = (uint16_t)buffer->frame_bytes;

    return pbuf_alloced_custom(PBUF_RAW, bytes, PBUF_REF, &block->custom, data, bytes);
}

/* Passes on a frame in several blocks: several segments that the device has joined, or a frame of
 * an MTU that is larger than a block. While few blocks are free, frames without TCP are copied, as
 * small ones are. TCP's blocks are within its window (receive_window.h). `data` is the frame's part
 * in the first block. Not inlined, because most frames lie in one block. */
static __attribute__((noinline)) void deliver_large(struct virtio_netif *interface,
                                                    struct virtio_net_buffer *first, uint8_t *data)
{
    bool tcp = whole_protocol(data, (uint16_t)first->frame_bytes) == IP_PROTO_TCP;
    struct pbuf *frame = block_pbuf(first, data);
    uint32_t bytes = first->frame_bytes;
    struct pbuf *last = frame;
    bool trusted;

    for (struct virtio_net_buffer *buffer = first->rest; buffer != NULL; buffer = buffer->rest) {
        bytes += buffer->frame_bytes;
        last->next = block_pbuf(buffer, buffer->memory);
        last = last->next;
    }
    receive_finish(interface);
    if (bytes > UINT16_MAX) { /* lwIP's lengths have 16 bits */
        interface->dropped_too_long++;
        pbuf_free(frame);
        return;
    }
    for (struct pbuf *piece = frame; piece != NULL; piece = piece->next) {
        piece->tot_len = (u16_t)bytes;
        bytes -= piece->len;
    }
    trusted = is_trusted(first, frame);
    if (!tcp && pool_low(interface)) {
        frame = replace_by_copy(interface, frame);
        if (frame == NULL) {
            interface->dropped_no_memory++;
            return;
        }
    }
    deliver(interface, frame, trusted, 1);
}

static void free_blocks(struct virtio_net_buffer *first)
{
    while (first != NULL) {
        struct virtio_net_buffer *rest = first->rest;

        free_block(block_of(first));
        first = rest;
    }
}

/*
 * Handles a frame with a VLAN tag. Returns the frame without its tag if that is of VLAN 0, so that
 * everything behind this function finds the headers in their usual places. Returns NULL, and drops
 * the frame, if the tag is of another VLAN. lwIP drops a frame that is too short for its tag. Not
 * inlined, because most frames have no tag.
 */
static __attribute__((noinline)) uint8_t *remove_tag(struct virtio_netif *interface,
                                                     struct virtio_net_buffer *first,
                                                     uint8_t *frame)
{
    if (first->frame_bytes < SIZEOF_ETH_HDR + VIRTIO_VLAN_TAG_BYTES) {
        return frame;
    }
    if (virtio_vlan_of(frame) != 0) {
        interface->dropped_vlan++;
        free_blocks(first);
        return NULL;
    }
    first->frame_bytes -= VIRTIO_VLAN_TAG_BYTES;
    first->checksum_start = (uint16_t)(first->checksum_start - VIRTIO_VLAN_TAG_BYTES);
    return virtio_vlan_remove_tag(frame);
}

void receive_deliver(struct virtio_netif *interface, struct virtio_net_buffer *buffer)
{
    uint8_t *frame = buffer->memory + VIRTIO_NET_HEADER_BYTES;
    struct pbuf *pbuf;
    bool trusted;

    if (virtio_vlan_has_tag(frame)) {
        frame = remove_tag(interface, buffer, frame);
        if (frame == NULL) {
            return;
        }
    }
    if (buffer->rest != NULL) {
        deliver_large(interface, buffer, frame);
        return;
    }
    if (interface->bypass != NULL && interface->bypass->input(buffer, frame, buffer->frame_bytes)) {
        interface->bypassed++;
        return;
    }
    pbuf = block_pbuf(buffer, frame);
    trusted = is_trusted(buffer, pbuf);
    if (pool_low(interface)) {
        pbuf = replace_by_copy(interface, pbuf);
        if (pbuf == NULL) {
            interface->dropped_no_memory++;
            return;
        }
    }
    coalesce_input(&interface->coalesce, pbuf, trusted, deliver, interface);
}

/* This function is apart from receive_deliver(), and calls lwIP by a pointer, so that the compiler
 * still joins the steps of the ordinary driver's frames with their only callers. */
void receive_deliver_copy(struct virtio_netif *interface, struct virtio_net_buffer *buffer)
{
    struct netif *netif = &interface->netif;
    uint8_t *frame = buffer->memory + VIRTIO_NET_HEADER_BYTES;
    struct pbuf *pbuf;

    if (virtio_vlan_has_tag(frame)) {
        frame = remove_tag(interface, buffer, frame);
        if (frame == NULL) {
            return;
        }
    }
    if (interface->bypass != NULL && interface->bypass->input(buffer, frame, buffer->frame_bytes)) {
        interface->bypassed++;
        return;
    }
    pbuf = block_pbuf(buffer, frame);
    if (pool_low(interface)) {
        pbuf = replace_by_copy(interface, pbuf);
        if (pbuf == NULL) {
            interface->dropped_no_memory++;
            return;
        }
    }
    netif->chksum_flags |= CHECKS_TRANSPORT;
    interface->passed++;
    if (netif->input(pbuf, netif) != ERR_OK) {
        pbuf_free(pbuf);
    }
}

void receive_finish(struct virtio_netif *interface)
{
    coalesce_flush(&interface->coalesce, deliver, interface);
}
