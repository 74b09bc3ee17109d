/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fake_backend.h"
#include "fake_socket.h"
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define QUEUES 2u

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
    GET_PROTOCOL_FEATURES = 15,
    SET_PROTOCOL_FEATURES = 16,
    GET_QUEUE_NUM = 17,
    SET_VRING_ENABLE = 18,
    NET_SET_MTU = 20,
    GET_CONFIG = 24,
    RESET_DEVICE = 34,
    SET_STATUS = 39,
    GET_STATUS = 40,
};

struct queue {
    uint32_t size;
    uint64_t descriptors, used, available;
    uint16_t next;
    int kick, call;
    bool enabled;
};

static struct {
    struct fake_backend *backend;
    pthread_t thread;
    struct fake_socket socket;
    int listener;
    bool owned;
    bool features_set;
    bool left_alone; /* silent from now on */
    uint64_t negotiated;
    uint64_t status;
    uint64_t guest_address, user_address, region_bytes;
    uint8_t *region;
    struct queue queues[QUEUES];
} fake;

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
    }
    *descriptor = -1;
}

static void forget_queue(struct queue *queue)
{
    close_descriptor(&queue->kick);
    close_descriptor(&queue->call);
    *queue = (struct queue){.kick = -1, .call = -1};
}

static void forget_connection(void)
{
    for (unsigned i = 0; i < QUEUES; i++) {
        forget_queue(&fake.queues[i]);
    }
    if (fake.region != NULL) {
        munmap(fake.region, fake.region_bytes);
        fake.region = NULL;
    }
    close_descriptor(&fake.socket.connection);
    fake.owned = false;
    fake.features_set = false;
    fake.left_alone = false;
    fake.negotiated = 0;
    fake.status = 0;
}

static void answer(struct message *message, const void *payload, uint32_t bytes)
{
    struct message reply = {.request = message->request, .flags = 0x5, .bytes = bytes};
    bool now = fake.backend->messages - 1 == fake.backend->fault_at;

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

static void map_memory(struct message *message)
{
    struct stat file;

    RULE(message->bytes == 8 + 32 && message->payload.word[0] == 1 && message->descriptor >= 0);
    RULE(fake.region == NULL || fake.region_bytes == message->payload.wide[2]);
    if (fake.region != NULL) {
        munmap(fake.region, fake.region_bytes);
    }
    fake.guest_address = message->payload.wide[1];
    fake.region_bytes = message->payload.wide[2];
    fake.user_address = message->payload.wide[3];
    RULE(message->payload.wide[4] == 0);
    RULE(fstat(message->descriptor, &file) == 0 && (uint64_t)file.st_size == fake.region_bytes);
    /* A back-end that is not to be trusted: it can't take the memory away. */
    RULE(ftruncate(message->descriptor, 0) != 0);
    fake.region =
        mmap(NULL, fake.region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, message->descriptor, 0);
    RULE(fake.region != MAP_FAILED);
}

static void *at(uint64_t address, uint64_t base, uint64_t bytes)
{
    RULE(fake.region != NULL && address >= base && bytes <= fake.region_bytes &&
         address - base <= fake.region_bytes - bytes);
    return fake.region + (address - base);
}

static uint16_t *words(uint64_t user_address, uint64_t bytes)
{
    return at(user_address, fake.user_address, bytes);
}

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags, next;
};

/* The next chain the driver made available, or NULL. They are of one descriptor in these tests. */
static struct descriptor *next_chain(struct queue *queue, uint16_t *head)
{
    struct descriptor *descriptor;
    uint16_t *available;

    if (!queue->enabled) {
        return NULL;
    }
    available = words(queue->available, 4 + 2 * queue->size);
    if (__atomic_load_n(&available[1], __ATOMIC_ACQUIRE) == queue->next) {
        return NULL;
    }
    *head = available[2 + queue->next % queue->size];
    RULE(*head < queue->size);
    descriptor = at(queue->descriptors, fake.user_address, UINT64_C(16) * queue->size);
    RULE((descriptor[*head].flags & 0x1u) == 0);
    return &descriptor[*head];
}

static void finish(struct queue *queue, uint16_t head, uint32_t written)
{
    uint16_t *used = words(queue->used, 4 + 8 * queue->size);
    uint32_t element[2] = {head, written};

    memcpy(&used[2 + 4 * (queue->next % queue->size)], element, sizeof(element));
    queue->next++;
    __atomic_store_n(&used[1], queue->next, __ATOMIC_RELEASE);
    if (queue->call >= 0) {
        (void)eventfd_write(queue->call, 1);
    }
}

/* Queue 1 is the driver's to transmit, 0 to receive. */
static void send_back(void)
{
    struct queue *from = &fake.queues[1];
    struct queue *to = &fake.queues[0];
    struct descriptor *source;
    struct descriptor *target;
    uint16_t source_head;
    uint16_t target_head;

    while ((source = next_chain(from, &source_head)) != NULL) {
        uint8_t *frame = at(source->address, fake.guest_address, source->bytes);

        RULE(source->flags == 0 && source->bytes >= 12 + 14);
        fake.backend->frames++;
        target = next_chain(to, &target_head);
        if (target != NULL && target->bytes >= source->bytes) {
            memcpy(at(target->address, fake.guest_address, source->bytes), frame, source->bytes);
            finish(to, target_head, source->bytes);
        }
        finish(from, source_head, 0);
    }
}

static struct queue *queue_of(const struct message *message)
{
    RULE(message->bytes >= 8 && (message->payload.word[0] & 0xffu) < QUEUES);
    RULE(fake.features_set);
    return &fake.queues[message->payload.word[0] & 0xffu];
}

static void set_address(const struct message *message)
{
    struct queue *queue = queue_of(message);

    RULE(message->bytes == 40 && message->payload.word[1] == 0);
    queue->descriptors = message->payload.wide[1];
    queue->used = message->payload.wide[2];
    queue->available = message->payload.wide[3];
    RULE(queue->descriptors % 16 == 0 && queue->available % 2 == 0 && queue->used % 4 == 0);
}

/* Takes over the descriptor of the message, if it has one. */
static void set_descriptor(struct message *message, int *descriptor)
{
    bool none = (message->payload.number & 0x100u) != 0;

    RULE(none == (message->descriptor < 0));
    close_descriptor(descriptor);
    *descriptor = message->descriptor;
    message->descriptor = -1;
}

static void answer_config(struct message *message)
{
    static const uint8_t config[12] = {2, 0, 0, 0, 0, 9, 1, 0, 1, 0, 0xdc, 0x05};
    uint32_t offset = message->payload.word[0];
    uint32_t bytes = message->payload.word[1];

    RULE((fake.negotiated & PROTOCOL_CONFIG) != 0);
    RULE(message->bytes == 12 + bytes && offset + bytes <= sizeof(config));
    memcpy(&message->payload.byte[12], config + offset, bytes);
    answer(message, &message->payload, message->bytes);
}

static void get_base(struct message *message)
{
    struct queue *queue = queue_of(message);
    uint32_t state[2] = {message->payload.word[0], queue->next};

    forget_queue(queue);
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
        answer_number(message, 1);
        return true;
    case GET_STATUS:
        RULE((fake.negotiated & PROTOCOL_STATUS) != 0);
        answer_number(message, fake.status);
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
    struct queue *queue = queue_of(message);

    switch (message->request) {
    case SET_VRING_NUM:
        queue->size = message->payload.word[1];
        RULE(queue->size != 0 && queue->size <= 32768);
        break;
    case SET_VRING_BASE:
        queue->next = (uint16_t)message->payload.word[1];
        break;
    case SET_VRING_ADDR:
        set_address(message);
        break;
    case SET_VRING_KICK:
        set_descriptor(message, &queue->kick);
        break;
    case SET_VRING_CALL:
        set_descriptor(message, &queue->call);
        break;
    case SET_VRING_ENABLE:
        RULE(!fake.backend->old && message->payload.word[1] <= 1);
        queue->enabled = message->payload.word[1] == 1;
        break;
    default:
        RULE(message->request == SET_VRING_NUM); /* a request that there is not */
    }
    if (fake.backend->old && message->request == SET_VRING_KICK) {
        queue->enabled = true;
    }
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
        map_memory(message);
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
        struct pollfd wanted[3] = {{.fd = fake.socket.connection, .events = POLLIN},
                                   {.fd = fake.socket.quit, .events = POLLIN},
                                   {.fd = fake.queues[1].kick, .events = POLLIN}};

        if (poll(wanted, 3, -1) < 0 || wanted[1].revents != 0) {
            break;
        }
        if (wanted[2].revents != 0) {
            eventfd_t count;

            (void)eventfd_read(fake.queues[1].kick, &count);
            send_back();
        }
        if (wanted[0].revents != 0) {
            going = serve_message();
            send_back(); /* a queue may have been kicked before it was enabled */
        }
    }
    while (fake.left_alone && fake_wait_for(&fake.socket, fake.socket.connection)) {
        uint8_t dropped[PAYLOAD_MAX];

        if (recv(fake.socket.connection, dropped, sizeof(dropped), 0) <= 0) {
            if (fake.backend->fault != FAULT_STUBBORN ||
                !fake_wait_for(&fake.socket, fake.socket.quit)) {
                break;
            }
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
                close_descriptor(&fake.socket.connection);
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
    for (unsigned i = 0; i < QUEUES; i++) {
        fake.queues[i] = (struct queue){.kick = -1, .call = -1};
    }
    backend->messages = 0;
    backend->fault_happened = false;
    backend->connections = 0;
    backend->frames = 0;
    fake.socket.quit = eventfd(0, 0);
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
    close_descriptor(&fake.socket.quit);
    close_descriptor(&fake.listener);
    if (!backend->client) {
        (void)unlink(backend->path);
    }
}
