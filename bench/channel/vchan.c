/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages through Xen's vchan (libxenvchan) for ./bulkhead bench channel, as tcp.c measures them
 * through TCP. Whoever sends a message writes each byte of it, and whoever receives it reads each
 * byte.
 *
 *   vchan measure DOMAIN PATH MILLISECONDS TRIPS   offers the vchan to DOMAIN, and measures;
 *                                                  reads a line before and after each transfer that
 *                                                  it announces
 *   vchan answer DOMAIN PATH                       connects to the vchan of DOMAIN, and answers
 *
 * PATH is the vchan's place in the XenStore. There are three ways to wait (enum waiting), which
 * both ends change together. Linked with --wrap=xenevtchn_notify, to count notifications.
 */
#include <libxenvchan.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES      1048576 /* the largest that libxenvchan makes */
#define MESSAGE_MAX     65536
#define CHUNK_BYTES     65536 /* bytes of a stream between two looks at the clock, at least */
#define CHUNK_MESSAGES  16    /* messages of a chunk, at least */
#define ROUND_TRIPS_MAX 100000
/* The best ones of those tried: */
#define PART_BYTES  16384 /* of a message in a round trip */
#define PAUSE_STEPS 2000

#define CONNECT_TRIES    600
#define CONNECT_PAUSE_US 100000

enum waiting {
    WAITING_INDICES, /* reads the indices of the ring, which asks for no notification; in a stream
                      * only now and then, until there is a buffer full */
    WAITING_CALLS,   /* calls the library until it succeeds */
    WAITING_SLEEPS,  /* sleeps in the library */
};

static const char *const waiting_names[] = {"vchan_indices", "vchan_calls", "vchan_asleep"};

#define WAITINGS (sizeof(waiting_names) / sizeof(waiting_names[0]))

enum order {
    ORDER_WAITING, /* `bytes` is an enum waiting for both ends */
    ORDER_STREAM,  /* `bytes` follow, which are to be read */
    ORDER_ECHO,    /* messages follow, which are to be sent back */
    ORDER_COUNT,   /* to be answered, with the notifications of this end in `count` */
};

struct command {
    uint32_t order;
    uint32_t bytes;      /* of a message */
    uint64_t count;      /* of messages */
    uint8_t padding[48]; /* messages behind a command begin at a cache line */
};

_Static_assert(sizeof(struct command) == 64, "a command is a cache line");

/* A transfer in one direction, or round trips. */
struct measured {
    uint64_t messages;
    uint64_t nanoseconds; /* of the whole transfer, or the median of the round trips */
};

static const size_t sizes[] = {8, 64, 1024, MESSAGE_MAX};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static _Alignas(64) uint8_t buffer[MESSAGE_MAX];
static volatile uint64_t content_sum; /* so that the content is read */
static uint64_t notifications;        /* of this end */
static enum waiting waiting = WAITING_SLEEPS;
static struct libxenvchan *vchan;

/* Replaces the library's function (ld, --wrap). */
int __real_xenevtchn_notify(xenevtchn_handle *handle, evtchn_port_t port);
int __wrap_xenevtchn_notify(xenevtchn_handle *handle, evtchn_port_t port);
int __wrap_xenevtchn_notify(xenevtchn_handle *handle, evtchn_port_t port)
{
    notifications++;
    return __real_xenevtchn_notify(handle, port);
}

static uint64_t now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "vchan: FAIL: %s\n", what);
    exit(1);
}

static void set_waiting(enum waiting changed)
{
    waiting = changed;
    vchan->blocking = waiting == WAITING_SLEEPS ? -1 : 0; /* a signed bit */
}

/* Makes a message, or a part of one. */
static void fill(size_t bytes)
{
    if (bytes == sizeof(uint64_t)) {
        memset(buffer, 0x5a, sizeof(uint64_t));
    } else {
        memset(buffer, 0x5a, bytes);
    }
}

static void read_content(size_t bytes)
{
    uint64_t sum = 0;

    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, buffer + i, sizeof(word));
        sum += word;
    }
    content_sum = sum;
}

static uint32_t ring_fill(const struct libxenvchan_ring *ring)
{
    const volatile struct ring_shared *indices = ring->shr;

    return indices->prod - indices->cons;
}

static void send_all(const void *content, size_t bytes)
{
    uint32_t fill_max = (1u << vchan->write.order) - (uint32_t)bytes;
    int done = 0;

    while (done == 0) {
        while (waiting == WAITING_INDICES && ring_fill(&vchan->write) > fill_max) {
        }
        done = libxenvchan_send(vchan, content, bytes);
    }
    if (done != (int)bytes) {
        fail("send");
    }
}

static void receive_all(void *content, size_t bytes)
{
    int done = 0;

    while (done == 0) {
        while (waiting == WAITING_INDICES && ring_fill(&vchan->read) < bytes) {
        }
        done = libxenvchan_recv(vchan, content, bytes);
    }
    if (done != (int)bytes) {
        fail("receive");
    }
}

/* A receiver that takes each message at once, or looks at the indices all the time, slows the
 * sender down, because all indices are in one cache line. */
static void pause_looking(void)
{
    for (volatile unsigned i = 0; i < PAUSE_STEPS; i++) {
    }
}

/* Receives and reads `bytes`. */
static void receive_stream(size_t bytes)
{
    while (bytes > 0) {
        size_t wanted = bytes < sizeof(buffer) ? bytes : sizeof(buffer);
        int done;

        while (waiting == WAITING_INDICES && ring_fill(&vchan->read) < wanted) {
            pause_looking();
        }
        done = libxenvchan_read(vchan, buffer, wanted);
        if (done < 0) {
            fail("read");
        }
        read_content((size_t)done);
        bytes -= (size_t)done;
    }
}

static void send_command(enum order order, size_t bytes, size_t count)
{
    struct command command = {.order = order, .bytes = (uint32_t)bytes, .count = count};

    send_all(&command, sizeof(command));
}

static size_t part_of(size_t bytes)
{
    return bytes < PART_BYTES ? bytes : PART_BYTES;
}

/* Makes and sends a message. The receiver reads a part while the sender writes the next one. */
static void send_in_parts(size_t bytes)
{
    for (size_t left = bytes; left > 0; left -= part_of(left)) {
        fill(part_of(left));
        send_all(buffer, part_of(left));
    }
}

/* Sends back what has been received. */
static void send_back_in_parts(size_t bytes)
{
    for (size_t left = bytes; left > 0; left -= part_of(left)) {
        send_all(buffer, part_of(left));
    }
}

static void receive_in_parts(size_t bytes)
{
    for (size_t left = bytes; left > 0; left -= part_of(left)) {
        receive_all(buffer, part_of(left));
        read_content(part_of(left));
    }
}

static void echo(size_t bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        receive_in_parts(bytes);
        send_back_in_parts(bytes);
    }
}

static _Noreturn void answer(void)
{
    for (;;) {
        struct command command;

        receive_all(&command, sizeof(command));
        if (command.bytes > MESSAGE_MAX) {
            fail("size of a message");
        }
        switch (command.order) {
        case ORDER_WAITING:
            set_waiting((enum waiting)command.bytes);
            break;
        case ORDER_STREAM:
            receive_stream((size_t)command.bytes * command.count);
            break;
        case ORDER_ECHO:
            echo(command.bytes, command.count);
            break;
        case ORDER_COUNT:
            command.count = notifications;
            send_all(&command, sizeof(command));
            break;
        default:
            fail("command");
        }
    }
}

/* Waits until the other end has done everything. Returns its notifications and this end's. */
static uint64_t count_notifications(void)
{
    struct command command;

    send_command(ORDER_COUNT, 0, 0);
    receive_all(&command, sizeof(command));
    return command.count + notifications;
}

static void change_waiting(enum waiting changed)
{
    send_command(ORDER_WAITING, changed, 0);
    set_waiting(changed);
    (void)count_notifications();
}

static struct measured measure_stream(size_t bytes, uint64_t duration)
{
    size_t chunk = bytes * CHUNK_MESSAGES < CHUNK_BYTES ? CHUNK_BYTES / bytes : CHUNK_MESSAGES;
    struct measured measured = {.messages = 0};
    uint64_t begin = now();

    while (now() - begin < duration) {
        send_command(ORDER_STREAM, bytes, chunk);
        for (size_t i = 0; i < chunk; i++) {
            fill(bytes);
            send_all(buffer, bytes);
        }
        measured.messages += chunk;
    }
    (void)count_notifications();
    measured.nanoseconds = now() - begin;
    return measured;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static struct measured measure_round_trips(size_t bytes, size_t count)
{
    static uint64_t times[ROUND_TRIPS_MAX];

    send_command(ORDER_ECHO, bytes, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = now();

        send_in_parts(bytes);
        receive_in_parts(bytes);
        times[i] = now() - begin;
    }
    qsort(times, count, sizeof(times[0]), compare);
    return (struct measured){.messages = count, .nanoseconds = times[count / 2]};
}

static void report(const char *kind, size_t bytes, struct measured measured)
{
    printf("vchan: %s %s %zu %llu %llu\n", waiting_names[waiting], kind, bytes,
           (unsigned long long)measured.messages, (unsigned long long)measured.nanoseconds);
}

/* The bench types a line when it has begun or ended to count exits. */
static void wait_for_line(void)
{
    int character = getchar();

    while (character != '\n' && character != EOF) {
        character = getchar();
    }
}

/* A transfer whose notifications and exits count. */
static void measure_events(uint64_t duration)
{
    const char *name = waiting_names[waiting];
    uint64_t before = count_notifications();
    struct measured measured;

    printf("vchan: %s begins\n", name);
    wait_for_line();
    measured = measure_stream(MESSAGE_MAX, duration);
    printf("vchan: %s ends\n", name);
    wait_for_line();
    printf("vchan: %s notifications %llu stream %d %llu\n", name,
           (unsigned long long)(count_notifications() - before), MESSAGE_MAX,
           (unsigned long long)measured.messages);
}

static void measure(uint64_t duration, size_t trips)
{
    (void)count_notifications();
    puts("vchan: ready");
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t each = 0; each < WAITINGS; each++) {
            change_waiting((enum waiting)each);
            report("stream", sizes[i], measure_stream(sizes[i], duration));
            report("trip", sizes[i], measure_round_trips(sizes[i], trips));
        }
    }
    for (size_t each = 0; each < WAITINGS; each++) {
        change_waiting((enum waiting)each);
        measure_events(duration);
    }
    puts("vchan: end");
}

static void offer(int domain, const char *path)
{
    vchan = libxenvchan_server_init(NULL, domain, path, RING_BYTES, RING_BYTES);
    if (vchan == NULL) {
        fail("no vchan to offer");
    }
    set_waiting(WAITING_SLEEPS);
}

/* The other guest may not offer the vchan yet. */
static void connect_to(int domain, const char *path)
{
    for (unsigned tries = 0; vchan == NULL && tries < CONNECT_TRIES; tries++) {
        vchan = libxenvchan_client_init(NULL, domain, path);
        if (vchan == NULL) {
            (void)usleep(CONNECT_PAUSE_US);
        }
    }
    if (vchan == NULL) {
        fail("no vchan to connect to");
    }
    set_waiting(WAITING_SLEEPS);
}

int main(int count, char *words[])
{
    setlinebuf(stdout);
    memset(buffer, 0x5a, sizeof(buffer));
    if (count == 6 && strcmp(words[1], "measure") == 0) {
        uint64_t milliseconds = strtoul(words[4], NULL, 10);
        size_t trips = strtoul(words[5], NULL, 10);

        if (trips > 0 && trips <= ROUND_TRIPS_MAX) {
            offer((int)strtoul(words[2], NULL, 10), words[3]);
            measure(milliseconds * UINT64_C(1000000), trips);
            return 0;
        }
    }
    if (count == 4 && strcmp(words[1], "answer") == 0) {
        connect_to((int)strtoul(words[2], NULL, 10), words[3]);
        answer();
    }
    (void)fputs("vchan: measure DOMAIN PATH MILLISECONDS TRIPS | answer DOMAIN PATH\n", stderr);
    return 2;
}
