/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages through TCP (speed.h), with lwIP's callback interface, which has no copies of received
 * data, no message boxes and no thread that has to wake up for a segment. */
#include "lwip/tcp.h"
#include "kernel/devicetree.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/tcpip.h"
#include "speed.h"
#include <string.h>

#define PORT_ECHO    7
#define PORT_DISCARD 9

#define IN_PLACE_BYTES 1024u
#define UNSENT_MAX     65536u
#define CONNECT_TRIES  20u
#define CONNECT_PAUSE  (200 * NANOSECONDS_PER_MILLISECOND)
#define PATIENCE       (60 * NANOSECONDS_PER_SECOND)

/* A connection of the partition that measures. Core lock held. */
struct client {
    struct tcp_pcb *pcb; /* NULL: lost, or closed */
    uint32_t bytes;      /* of a message */
    uint32_t left;       /* bytes of the message that are not written yet */
    uint64_t messages;   /* written */
    uint64_t begin;
    uint64_t end;
    uint64_t duration; /* of a transfer */
    uint64_t period;   /* of a message of a transfer, 0: as many messages as possible */
    const uint8_t *message;
    bool is_shut; /* nothing else is sent */
    bool stays_awake;
    uint32_t missing; /* bytes of the answer */
    uint32_t trips;   /* that are left */
    bool has_failed;
    struct semaphore done;
};

/* Messages stand here one behind the other, because those from IN_PLACE_BYTES on are sent from
 * where they are, also once more after a loss. The send buffer limits what is not acknowledged. So
 * the place of a message is free when its turn comes again: at the end of the memory, less than a
 * message is left out. */
static uint8_t content[TCP_SND_BUF + 2 * MESSAGE_MAX];
static size_t next_place;
static struct client client;
static struct usage_span served; /* core lock held */

static void finish(bool has_failed)
{
    client.end = time_now();
    client.has_failed = has_failed;
    (void)semaphore_post(&client.done);
}

static void handle_loss(void *argument, err_t error)
{
    (void)argument;
    (void)error;
    client.pcb = NULL;
    finish(true);
}

/* Makes the next message, each byte of it. */
static void begin_message(void)
{
    if (client.bytes > sizeof(content) - next_place) {
        next_place = 0;
    }
    if (client.bytes == sizeof(uint64_t)) {
        memset(content + next_place, 0x5a, sizeof(uint64_t));
    } else {
        memset(content + next_place, 0x5a, client.bytes);
    }
    client.message = content + next_place;
    client.left = client.bytes;
    next_place += client.bytes;
}

/* Writes what the send buffer takes. A large message is sent from where it is. Small ones are
 * copied, because each would need a buffer of its own. */
static void write_message(void)
{
    uint8_t flags = client.bytes < IN_PLACE_BYTES ? TCP_WRITE_FLAG_COPY : 0;

    while (client.left > 0) {
        uint32_t length = LWIP_MIN(client.left, tcp_sndbuf(client.pcb));

        length = LWIP_MIN(length, UINT16_MAX);
        if (length == 0 || tcp_write(client.pcb, client.message + client.bytes - client.left,
                                     (uint16_t)length, flags) != ERR_OK) {
            return;
        }
        client.left -= length;
    }
}

static bool is_time_for_message(void)
{
    return client.period == 0 || time_now() - client.begin >= client.messages * client.period;
}

/* Writes messages until enough waits to be sent, or the time is over. lwIP walks the segments that
 * wait at each write, so a longer queue is slower. With a shorter one the sender pauses. */
static void write_stream(void)
{
    uint64_t batch = client.period == 0 ? messages_per_look(client.bytes) : 1;

    while (!client.is_shut && client.pcb->snd_lbb - client.pcb->snd_nxt < UNSENT_MAX) {
        write_message();
        if (client.left > 0) {
            break;
        }
        if (client.messages % batch == 0 && time_now() - client.begin >= client.duration) {
            client.is_shut = true;
            (void)tcp_shutdown(client.pcb, 0, 1);
            break;
        }
        if (!is_time_for_message()) {
            break;
        }
        begin_message();
        client.messages++;
    }
    (void)tcp_output(client.pcb);
}

static err_t handle_sent_of_stream(void *argument, struct tcp_pcb *pcb, uint16_t length)
{
    (void)argument;
    (void)pcb;
    (void)length;
    write_stream();
    return ERR_OK;
}

/* The service closes the connection when it has read everything. */
static err_t handle_end_of_stream(void *argument, struct tcp_pcb *pcb, struct pbuf *data,
                                  err_t error)
{
    (void)argument;
    (void)error;
    if (data != NULL) {
        tcp_recved(pcb, data->tot_len);
        (void)pbuf_free(data);
        return ERR_OK;
    }
    finish(false);
    return ERR_OK;
}

static err_t begin_stream(void *argument, struct tcp_pcb *pcb, err_t error)
{
    (void)argument;
    (void)error;
    client.begin = time_now();
    tcp_sent(pcb, handle_sent_of_stream);
    tcp_recv(pcb, handle_end_of_stream);
    write_stream();
    return ERR_OK;
}

static void begin_trip(void)
{
    client.begin = time_now();
    begin_message();
    client.missing = client.bytes;
    write_message();
    (void)tcp_output(client.pcb);
}

static err_t handle_sent_of_trip(void *argument, struct tcp_pcb *pcb, uint16_t length)
{
    (void)argument;
    (void)length;
    if (client.left > 0) {
        write_message();
        (void)tcp_output(pcb);
    }
    return ERR_OK;
}

static void read_chain(const struct pbuf *data)
{
    for (const struct pbuf *each = data; each != NULL; each = each->next) {
        read_content(each->payload, each->len);
    }
}

static err_t handle_answer(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    (void)argument;
    (void)error;
    if (data == NULL) {
        finish(true);
        return ERR_OK;
    }
    read_chain(data);
    client.missing -= LWIP_MIN(client.missing, data->tot_len);
    tcp_recved(pcb, data->tot_len);
    (void)pbuf_free(data);
    if (client.missing > 0 || client.trips == 0) {
        return ERR_OK;
    }
    client.trips--;
    set_round_trip(client.trips, time_now() - client.begin);
    if (client.trips == 0) {
        finish(false);
    } else {
        begin_trip();
    }
    return ERR_OK;
}

static err_t begin_trips(void *argument, struct tcp_pcb *pcb, err_t error)
{
    (void)argument;
    (void)error;
    tcp_nagle_disable(pcb);
    tcp_sent(pcb, handle_sent_of_trip);
    tcp_recv(pcb, handle_answer);
    begin_trip();
    return ERR_OK;
}

/* Connects. The rest happens in callbacks. Returns false if there is no memory. Core lock held. */
static bool begin(uint16_t port, tcp_connected_fn connected)
{
    char text[sizeof("255.255.255.255")];
    ip_addr_t address;

    (void)boot_argument("peer", text, sizeof(text));
    client.pcb = tcp_new();
    if (client.pcb == NULL || ipaddr_aton(text, &address) == 0) {
        return false;
    }
    tcp_err(client.pcb, handle_loss);
    return tcp_connect(client.pcb, &address, port, connected) == ERR_OK;
}

/* Core lock held. */
static void end(void)
{
    if (client.pcb == NULL) {
        return;
    }
    tcp_err(client.pcb, NULL);
    tcp_recv(client.pcb, NULL);
    tcp_sent(client.pcb, NULL);
    tcp_abort(client.pcb);
    client.pcb = NULL;
}

/* Sends the message of this period, if there is a connection. */
static void continue_paced(void)
{
    LOCK_TCPIP_CORE();
    if (client.pcb != NULL && client.begin != 0) {
        write_stream();
    }
    UNLOCK_TCPIP_CORE();
}

/* Returns when a wait for the callbacks ends. */
static uint64_t wait_end(uint64_t deadline)
{
    if (client.stays_awake) {
        return DEADLINE_POLL;
    }
    return client.period == 0 ? deadline : time_after(client.period);
}

/* Waits for the callbacks, which interrupt a thread that polls. Returns false if they take too
 * long. */
static bool wait_until_done(void)
{
    uint64_t deadline = time_after(PATIENCE);
    enum result result = semaphore_wait(&client.done, wait_end(deadline));

    while (result != RESULT_OK && time_now() < deadline) {
        if (client.period != 0) {
            continue_paced();
        }
        result = semaphore_wait(&client.done, wait_end(deadline));
    }
    return result == RESULT_OK;
}

/* Returns true if the measurement was complete. */
static bool run(const struct client *wanted, uint16_t port, tcp_connected_fn connected)
{
    for (unsigned tries = 0; tries < CONNECT_TRIES; tries++) {
        bool has_begun;
        bool is_done;

        client = *wanted;
        semaphore_init(&client.done, 0, 1);
        LOCK_TCPIP_CORE();
        has_begun = begin(port, connected);
        UNLOCK_TCPIP_CORE();
        is_done = has_begun && wait_until_done() && !client.has_failed;
        LOCK_TCPIP_CORE();
        end();
        UNLOCK_TCPIP_CORE();
        if (is_done) {
            return true;
        }
        /* The other partition may not have started its services yet. */
        (void)thread_sleep_until(time_after(CONNECT_PAUSE));
    }
    return false;
}

struct measured tcp_stream(uint32_t bytes, uint64_t duration, uint64_t period, bool stays_awake)
{
    const struct client wanted = {
        .bytes = bytes,
        .duration = duration,
        .period = period,
        .stays_awake = stays_awake,
    };

    if (!run(&wanted, PORT_DISCARD, begin_stream)) {
        return (struct measured){.messages = 0};
    }
    return (struct measured){.messages = client.messages, .nanoseconds = client.end - client.begin};
}

struct measured tcp_round_trips(uint32_t bytes, uint32_t count, bool stays_awake)
{
    const struct client wanted = {
        .bytes = bytes,
        .trips = LWIP_MIN(count, ROUND_TRIPS_MAX),
        .stays_awake = stays_awake,
    };

    if (!run(&wanted, PORT_ECHO, begin_trips)) {
        return (struct measured){.messages = 0};
    }
    return (struct measured){.messages = wanted.trips,
                             .nanoseconds = median_round_trip(wanted.trips)};
}

static err_t discard(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    (void)argument;
    (void)error;
    if (data == NULL) {
        served.end = usage_now();
        return tcp_close(pcb);
    }
    read_chain(data);
    tcp_recved(pcb, data->tot_len);
    (void)pbuf_free(data);
    return ERR_OK;
}

static err_t echo(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    (void)argument;
    (void)error;
    if (data == NULL) {
        return tcp_close(pcb);
    }
    if (tcp_sndbuf(pcb) < data->tot_len) {
        return ERR_MEM; /* lwIP keeps the data, and delivers it again */
    }
    for (const struct pbuf *each = data; each != NULL; each = each->next) {
        read_content(each->payload, each->len);
        if (tcp_write(pcb, each->payload, each->len, TCP_WRITE_FLAG_COPY) != ERR_OK) {
            tcp_abort(pcb);
            (void)pbuf_free(data);
            return ERR_ABRT;
        }
    }
    tcp_recved(pcb, data->tot_len);
    (void)pbuf_free(data);
    return tcp_output(pcb);
}

static err_t accept_discard(void *argument, struct tcp_pcb *pcb, err_t error)
{
    (void)argument;
    if (error == ERR_OK && pcb != NULL) {
        served.begin = usage_now();
        tcp_recv(pcb, discard);
    }
    return ERR_OK;
}

static err_t accept_echo(void *argument, struct tcp_pcb *pcb, err_t error)
{
    (void)argument;
    if (error == ERR_OK && pcb != NULL) {
        tcp_nagle_disable(pcb);
        tcp_recv(pcb, echo);
    }
    return ERR_OK;
}

/* Core lock held. */
static bool serve(uint16_t port, tcp_accept_fn accepted)
{
    struct tcp_pcb *pcb = tcp_new();

    if (pcb == NULL || tcp_bind(pcb, IP_ADDR_ANY, port) != ERR_OK) {
        return false;
    }
    pcb = tcp_listen(pcb);
    if (pcb == NULL) {
        return false;
    }
    tcp_accept(pcb, accepted);
    return true;
}

enum result tcp_open(void)
{
    enum result result = network_start();
    bool is_serving;

    if (result != RESULT_OK) {
        return result;
    }
    LOCK_TCPIP_CORE();
    is_serving = serve(PORT_DISCARD, accept_discard) && serve(PORT_ECHO, accept_echo);
    UNLOCK_TCPIP_CORE();
    return is_serving ? RESULT_OK : RESULT_NO_MEMORY;
}

struct usage_span tcp_served(void)
{
    struct usage_span span;

    LOCK_TCPIP_CORE();
    span = served;
    UNLOCK_TCPIP_CORE();
    return span;
}
