/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fake_backend.h"
#include "fake_queues.h"
#include "fake_socket.h"
#include "virtio/platform.h"
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    GET_FEATURES = 1,
    SET_FEATURES = 2,
    SET_OWNER = 3,
    SET_MEM_TABLE = 5,
    SET_VRING_NUM = 8,
    SET_VRING_ADDR = 9,
    SET_VRING_BASE = 10,
    GET_VRING_BASE = 11,
    SET_VRING_KICK = 12,
    SET_VRING_CALL = 13,
    SET_VRING_ERR = 14,
    GET_PROTOCOL_FEATURES = 15,
    SET_PROTOCOL_FEATURES = 16,
    GET_QUEUE_NUM = 17,
    SET_VRING_ENABLE = 18,
    NET_SET_MTU = 20,
    SET_BACKEND_REQ_FD = 21,
    GET_CONFIG = 24,
    RESET_DEVICE = 34,
    SET_STATUS = 39,
    GET_STATUS = 40,
};

static struct {
    struct fake_backend *backend;
    pthread_t thread;
    struct fake_socket socket;
    int listener;
    int requests; /* the channel to ask on */
    int mute, stuck, gone;
    bool owned;
    bool features_set;
    bool left_alone; /* silent from now on */
    uint64_t negotiated;
    uint64_t status;
    struct fake_memory memory;
    struct fake_queue queues[FAKE_QUEUES];
} fake = {.mute = -1, .stuck = -1};

int fake_backend_requests(void)
{
    return fake.requests;
}

int fake_backend_error(unsigned queue)
{
    return fake.queues[queue].error;
}

int fake_backend_call(unsigned queue)
{
    return fake.queues[queue].call;
}

int fake_backend_mute(void)
{
    return fake.mute;
}

int fake_backend_stuck(void)
{
    return fake.stuck;
}

void fake_backend_wait_gone(void)
{
    eventfd_t count;

    RULE(eventfd_read(fake.gone, &count) == 0);
}

static void forget_connection(void)
{
    eventfd_t count;

    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        fake_forget_queue(&fake.queues[i]);
    }
    fake_unmap(&fake.memory);
    fake_close(&fake.requests);
    /* Before it hangs up: the next one to connect finds time standing still. */
    (void)eventfd_read(fake.mute, &count);
    (void)eventfd_read(fake.stuck, &count);
    fake_close(&fake.socket.connection);
    fake.owned = false;
    fake.features_set = false;
    fake.left_alone = false;
    fake.negotiated = 0;
    fake.status = 0;
    (void)eventfd_write(fake.gone, 1);
}

static void answer(struct message *message, const void *payload, uint32_t bytes)
{
    struct message reply = {.request = message->request, .flags = 0x5, .bytes = bytes};
    bool now = fake.backend->messages - 1 == fake.backend->fault_at;

    fake.backend->heard = fake.backend->messages;
    memcpy(&reply.payload, payload, bytes);
    if (now && fake.backend->fault != FAULT_NONE) {
        fake.backend->fault_happened = true;
        switch (fake.backend->fault) {
        case FAULT_HALF:
            fake_send(&fake.socket, &reply, (HEADER_BYTES + bytes) / 2);
            (void)shutdown(fake.socket.connection, SHUT_RDWR);
            return;
        case FAULT_GARBAGE:
            for (unsigned i = 0; i < PAYLOAD_MAX; i++) {
                ((uint8_t *)&reply)[i] = (uint8_t)(i * i * 37u + fake.backend->messages);
            }
            fake_send(&fake.socket, &reply, PAYLOAD_MAX);
            return;
        case FAULT_OTHER_REQUEST:
            reply.request++;
            break;
        case FAULT_OTHER_VERSION:
            reply.flags = 0x6;
            break;
        case FAULT_NO_REPLY_FLAG:
            reply.flags = 0x1;
            break;
        case FAULT_SHORT:
            reply.bytes -= 4;
            break;
        case FAULT_LONG:
            reply.bytes = 0x7fffffff;
            break;
        default:
            break;
        }
    }
    fake_send(&fake.socket, &reply, HEADER_BYTES + bytes);
}

static void answer_number(struct message *message, uint64_t number)
{
    answer(message, &number, sizeof(number));
}

/* An even queue is the driver's to receive, the next one to transmit. */
static void send_back(void)
{
    for (unsigned i = 0; i < FAKE_QUEUES; i += 2) {
        fake.backend->frames += fake_send_back(&fake.memory, &fake.queues[i + 1], &fake.queues[i]);
    }
}

static struct fake_queue *queue_of(const struct message *message)
{
    uint32_t queue = message->payload.word[0] & 0xffu;

    RULE(message->bytes >= 8 && queue < FAKE_QUEUES);
    /* "Front-end should stop when the number of requested queues is bigger than that." And without
     * MQ there is one pair. */
    RULE(queue < 2 || ((fake.negotiated & PROTOCOL_MQ) != 0 && queue < 2 * fake.backend->pairs));
    RULE(queue < 2 || (fake.backend->driver_features & UINT64_C(1) << 22) != 0);
    RULE(fake.features_set);
    return &fake.queues[message->payload.word[0] & 0xffu];
}

/* Takes over the descriptor of the message, if it has one. */
static void set_descriptor(struct message *message, int *descriptor)
{
    bool none = (message->payload.number & 0x100u) != 0;

    RULE(none == (message->descriptor < 0));
    fake_close(descriptor);
    *descriptor = message->descriptor;
    message->descriptor = -1;
}

static void answer_config(struct message *message)
{
    enum fake_config_lie lie = fake.backend->config_lie;
    uint32_t offset = message->payload.word[0];
    uint32_t bytes = message->payload.word[1];

    RULE((fake.negotiated & PROTOCOL_CONFIG) != 0);
    RULE(message->bytes == 12 + bytes && offset + bytes <= FAKE_CONFIG_BYTES);
    memcpy(&message->payload.byte[12], fake.backend->config + offset, bytes);
    message->payload.word[0] += lie == CONFIG_OTHER_OFFSET;
    message->payload.word[1] -= lie == CONFIG_OTHER_BYTES;
    answer(message, &message->payload, lie == CONFIG_ERROR ? 0 : message->bytes);
}

/* Says that the configuration has changed, and waits for the answer. */
static void ask_back(void)
{
    const uint32_t request[3] = {2, 0x9, 0};
    struct __attribute__((packed)) {
        uint32_t header[3];
        uint64_t result;
    } reply;

    RULE(send(fake.requests, request, sizeof(request), MSG_NOSIGNAL) == sizeof(request));
    RULE(recv(fake.requests, &reply, sizeof(reply), MSG_WAITALL) == sizeof(reply));
    RULE(reply.header[0] == 2 && reply.header[1] == 0x5 && reply.header[2] == 8);
}

static void answer_status(struct message *message)
{
    RULE((fake.negotiated & PROTOCOL_STATUS) != 0);
    if (fake.backend->takes_lock) {
        virtio_platform_unlock(virtio_platform_lock());
    }
    if (fake.backend->asks_back) {
        ask_back();
    }
    answer_number(message, fake.status);
}

static void get_base(struct message *message)
{
    struct fake_queue *queue = queue_of(message);
    uint32_t state[2] = {message->payload.word[0], (uint16_t)queue->ring.available};

    fake_forget_queue(queue);
    answer(message, state, sizeof(state));
}

static void set_features(uint64_t features)
{
    uint64_t offered =
        fake.backend->features | (UINT64_C(1) << 32) | (fake.backend->old ? 0 : UINT64_C(1) << 30);

    RULE((features & ~offered) == 0);
    fake.backend->driver_features = features;
    fake.features_set = true;
}

/* True: the request has an answer of its own, and it was sent. */
static bool ask(struct message *message)
{
    struct fake_backend *backend = fake.backend;

    switch (message->request) {
    case GET_FEATURES:
        answer_number(message, backend->features | (UINT64_C(1) << 32) |
                                   (backend->old ? 0 : UINT64_C(1) << 30));
        return true;
    case GET_PROTOCOL_FEATURES:
        RULE(!backend->old);
        answer_number(message, backend->protocol_features);
        return true;
    case GET_QUEUE_NUM:
        RULE((fake.negotiated & PROTOCOL_MQ) != 0);
        answer_number(message, backend->pairs);
        return true;
    case GET_STATUS:
        answer_status(message);
        return true;
    case GET_CONFIG:
        answer_config(message);
        return true;
    case GET_VRING_BASE:
        get_base(message);
        return true;
    default:
        return false;
    }
}

static void tell_queue(struct message *message)
{
    struct fake_queue *queue = queue_of(message);

    switch (message->request) {
    case SET_VRING_NUM:
        RULE(message->payload.word[1] != 0 && message->payload.word[1] <= RING_SIZE_MAX);
        queue->ring.size = (uint16_t)message->payload.word[1];
        break;
    case SET_VRING_BASE:
        queue->ring.available = message->payload.word[1];
        queue->ring.used = message->payload.word[1];
        break;
    case SET_VRING_ADDR:
        queue->ring.features = fake.backend->driver_features;
        fake_set_address(queue, &fake.memory, message);
        break;
    case SET_VRING_KICK:
        set_descriptor(message, &queue->kick);
        break;
    case SET_VRING_CALL:
        set_descriptor(message, &queue->call);
        break;
    case SET_VRING_ERR:
        set_descriptor(message, &queue->error);
        break;
    case SET_VRING_ENABLE:
        RULE(!fake.backend->old && message->payload.word[1] <= 1);
        queue->enabled = message->payload.word[1] == 1;
        fake.backend->enabled &= ~(1u << message->payload.word[0]);
        fake.backend->enabled |= message->payload.word[1] << message->payload.word[0];
        break;
    default:
        RULE(message->request == SET_VRING_NUM); /* a request that there is not */
    }
    if (fake.backend->old && message->request == SET_VRING_KICK) {
        queue->enabled = true;
    }
}

static void take_request_channel(struct message *message)
{
    RULE((fake.negotiated & PROTOCOL_BACKEND_REQ) != 0 && message->bytes == 0);
    RULE(message->descriptor >= 0 && fake.requests < 0);
    fake.requests = message->descriptor;
    message->descriptor = -1;
}

static void tell(struct message *message)
{
    switch (message->request) {
    case SET_OWNER:
        RULE(!fake.owned);
        fake.owned = true;
        break;
    case SET_FEATURES:
        set_features(message->payload.number);
        break;
    case SET_PROTOCOL_FEATURES:
        RULE((message->payload.number & ~fake.backend->protocol_features) == 0);
        fake.negotiated = message->payload.number;
        break;
    case SET_MEM_TABLE:
        fake_map(&fake.memory, message);
        break;
    case SET_BACKEND_REQ_FD:
        take_request_channel(message);
        break;
    case NET_SET_MTU:
        RULE((fake.negotiated & PROTOCOL_NET_MTU) != 0);
        fake.backend->mtu = (uint16_t)message->payload.number;
        break;
    case RESET_DEVICE:
        RULE((fake.negotiated & PROTOCOL_RESET_DEVICE) != 0);
        break;
    case SET_STATUS:
        RULE((fake.negotiated & PROTOCOL_STATUS) != 0 && message->payload.number <= 0xff);
        fake.status = message->payload.number;
        break;
    default:
        tell_queue(message);
    }
}

/* False: this back-end does not want to go on as it should. */
static bool serve_message(void)
{
    struct fake_backend *backend = fake.backend;
    bool acknowledged = (fake.negotiated & PROTOCOL_REPLY_ACK) != 0;
    struct message message;

    if (!fake_receive(&fake.socket, &message)) {
        return false;
    }
    RULE(((message.flags & 0x8u) == 0) || acknowledged);
    if (backend->messages++ == backend->fault_at && backend->fault != FAULT_NONE &&
        backend->fault <= FAULT_STUBBORN) {
        backend->fault_happened = true;
        fake.left_alone = backend->fault != FAULT_HANG_UP;
        (void)eventfd_write(fake.mute, fake.left_alone);
        fake_drop_descriptor(&message);
        return false;
    }
    if (!ask(&message)) {
        bool refuse = backend->fault == FAULT_REFUSE && backend->messages - 1 == backend->fault_at;

        tell(&message);
        if ((message.flags & 0x8u) != 0) {
            answer_number(&message, refuse ? 1 : 0);
        }
    }
    fake_drop_descriptor(&message);
    return true;
}

static void serve_connection(void)
{
    bool going = true;

    while (going) {
        struct pollfd wanted[2 + FAKE_PAIRS] = {{.fd = fake.socket.connection, .events = POLLIN},
                                                {.fd = fake.socket.quit, .events = POLLIN}};

        for (unsigned i = 0; i < FAKE_PAIRS; i++) {
            wanted[2 + i] = (struct pollfd){.fd = fake.queues[2 * i + 1].kick, .events = POLLIN};
        }
        if (poll(wanted, 2 + FAKE_PAIRS, -1) < 0 || wanted[1].revents != 0) {
            break;
        }
        for (unsigned i = 0; i < FAKE_PAIRS; i++) {
            if (wanted[2 + i].revents != 0) {
                eventfd_t count;

                (void)eventfd_read(wanted[2 + i].fd, &count);
                send_back();
            }
        }
        if (wanted[0].revents != 0) {
            going = serve_message();
            send_back(); /* a queue may have been kicked before it was enabled */
        }
    }
    while (fake.left_alone && fake_wait_for(&fake.socket, fake.socket.connection)) {
        uint8_t dropped[PAYLOAD_MAX];

        if (recv(fake.socket.connection, dropped, sizeof(dropped), 0) <= 0) {
            if (fake.backend->fault == FAULT_STUBBORN) {
                (void)eventfd_write(fake.stuck, 1);
                (void)fake_wait_for(&fake.socket, fake.socket.quit);
            }
            break;
        }
    }
    forget_connection();
}

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    RULE(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    return address;
}

static void *run(void *unused)
{
    struct sockaddr_un address = address_of(fake.backend->path);

    (void)unused;
    while (fake.backend->client || fake_wait_for(&fake.socket, fake.listener)) {
        if (fake.backend->client) {
            fake.socket.connection = socket(AF_UNIX, SOCK_STREAM, 0);
            if (connect(fake.socket.connection, (struct sockaddr *)&address, sizeof(address)) !=
                0) {
                fake_close(&fake.socket.connection);
                if (poll(&(struct pollfd){.fd = fake.socket.quit, .events = POLLIN}, 1, 1) != 0) {
                    break;
                }
                continue;
            }
        } else {
            fake.socket.connection = accept(fake.listener, NULL, NULL);
        }
        fake.backend->connections++;
        serve_connection();
        if (poll(&(struct pollfd){.fd = fake.socket.quit, .events = POLLIN}, 1, 0) != 0) {
            break;
        }
    }
    return NULL;
}

void fake_backend_start(struct fake_backend *backend)
{
    struct sockaddr_un address = address_of(backend->path);

    memset(&fake, 0, sizeof(fake));
    fake.backend = backend;
    fake.socket.connection = -1;
    fake.listener = -1;
    fake.requests = -1;
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        fake.queues[i] = (struct fake_queue){.kick = -1, .call = -1, .error = -1};
    }
    backend->messages = 0;
    backend->fault_happened = false;
    backend->connections = 0;
    backend->frames = 0;
    fake.socket.quit = eventfd(0, 0);
    fake.mute = eventfd(0, EFD_NONBLOCK);
    fake.stuck = eventfd(0, EFD_NONBLOCK);
    fake.gone = eventfd(0, 0);
    if (!backend->client) {
        fake.listener = socket(AF_UNIX, SOCK_STREAM, 0);
        (void)unlink(backend->path);
        RULE(bind(fake.listener, (struct sockaddr *)&address, sizeof(address)) == 0);
        RULE(listen(fake.listener, 1) == 0);
    }
    RULE(pthread_create(&fake.thread, NULL, run, NULL) == 0);
}

void fake_backend_stop(struct fake_backend *backend)
{
    RULE(eventfd_write(fake.socket.quit, 1) == 0);
    RULE(pthread_join(fake.thread, NULL) == 0);
    fake_close(&fake.socket.quit);
    fake_close(&fake.mute);
    fake_close(&fake.stuck);
    fake_close(&fake.gone);
    fake_close(&fake.listener);
    if (!backend->client) {
        (void)unlink(backend->path);
    }
}
