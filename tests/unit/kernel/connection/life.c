/* SPDX-License-Identifier: BSD-2-Clause */
/* See life.h. */
#include "life.h"
#include "core_lock.h"
#include "kernel/connection.h"
#include "kernel/kept.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "lwip/timeouts.h"
#include "lwip_stack.h"
#include "net/stack_call.h"
#include "packets.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <channel/words.h>
#include <cmocka.h>

#define FRAME_MAX    2048u
#define BLOCKS       64u
#define IDLE_SECONDS 1000u
/* Of a request, after which it is committed in part. The peers fill the window before. */
#define COMMIT_BYTES 15000u

/* Shared by all lives. */
static struct shared {
    uint32_t lives;
    unsigned lines;
    char line[64][160];
} *shared;
static uint8_t *memory;
static size_t memory_bytes;

static pid_t process; /* of the life; 0: none */
static int channel = -1;

/* In the life's process. */
static struct life_plan left = {LIFE_ENDLESS, LIFE_ENDLESS};
static size_t taken;

/* ---- The kernel ---- */

enum result kept_take(size_t bytes, void **place)
{
    if (memory_bytes == 0) {
        return RESULT_NOT_FOUND;
    }
    if (bytes > memory_bytes - taken) {
        return RESULT_OVERFLOW;
    }
    *place = memory + taken;
    taken += (bytes + KEPT_ALIGNMENT - 1) & ~(KEPT_ALIGNMENT - 1);
    return RESULT_OK;
}

void *heap_allocate(size_t bytes)
{
    return malloc(bytes);
}

void print(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    (void)vsnprintf(shared->line[shared->lines % 64], sizeof(shared->line[0]), format, values);
    va_end(values);
    shared->lines++;
}

void network_lock(void)
{
}

void network_unlock(void)
{
}

void network_call_in_stack(void (*function)(void *argument), void *argument)
{
    function(argument);
}

void before_store(void)
{
    if (left.stores == 0) {
        _exit(LIFE_ENDED);
    }
    left.stores -= left.stores != LIFE_ENDLESS;
}

/* ---- The server ---- */

/* The state that the server keeps with each commit. */
struct progress {
    uint32_t answered;
    uint32_t left; /* bytes of the request that are not read yet */
    uint32_t number;
    uint32_t sum;
};

struct session {
    struct progress progress;
    uint32_t uncommitted; /* bytes read since the last commit */
    bool closes_later;    /* when the last answer was acknowledged */
    bool is_strange;      /* a request came that is not the next one: it was lost, or came twice */
};

static void expect(bool is_right)
{
    if (!is_right) {
        _exit(LIFE_STRANGE);
    }
}

static uint32_t answer_bytes(uint32_t number)
{
    return number % 4 >= 2 ? 17000 + number : 100 + 37 * number;
}

static bool answer(struct connection *connection, struct session *session)
{
    struct progress *progress = &session->progress;
    static uint8_t bytes[sizeof(struct life_answer) + 20000];
    struct life_answer head = {progress->number, progress->sum, shared->lives,
                               answer_bytes(progress->number)};

    if (connection_room(connection) < sizeof(head) + head.bytes) {
        connection_await_room(connection);
        return false;
    }
    memcpy(bytes, &head, sizeof(head));
    for (uint32_t i = 0; i < head.bytes; i++) {
        bytes[sizeof(head) + i] = life_byte(&head, i);
    }
    /* In two calls, between which nothing may go out. */
    expect(connection_write(connection, bytes, sizeof(head)));
    expect(connection_write(connection, bytes + sizeof(head), head.bytes));
    if ((progress->left & LIFE_CLOSE) != 0) {
        connection_close(connection);
    }
    if ((progress->left & LIFE_CLOSE_LATER) != 0) {
        session->closes_later = true;
        connection_await_room(connection);
    }
    *progress = (struct progress){.answered = progress->answered + 1};
    connection_commit(connection, progress, sizeof(*progress));
    return true;
}

static bool begin_request(struct connection *connection, struct session *session)
{
    struct progress *progress = &session->progress;
    struct life_request request;

    if (connection_peek(connection, &request, sizeof(request)) < sizeof(request)) {
        return false;
    }
    if (request.number != progress->answered + 1) {
        session->is_strange = true;
        return false;
    }
    connection_skip(connection, sizeof(request));
    progress->number = request.number;
    progress->left = request.bytes;
    return true;
}

static void read_body(struct connection *connection, struct session *session)
{
    struct progress *progress = &session->progress;
    uint8_t bytes[1000];

    while ((progress->left & ~LIFE_FLAGS) != 0) {
        size_t got = connection_peek(connection, bytes, sizeof(bytes));

        got = got < (progress->left & ~LIFE_FLAGS) ? got : progress->left & ~LIFE_FLAGS;
        if (got == 0) {
            break;
        }
        for (size_t i = 0; i < got; i++) {
            progress->sum = progress->sum * 33 + bytes[i];
        }
        progress->left -= (uint32_t)got;
        connection_skip(connection, got);
        session->uncommitted += (uint32_t)got;
    }
    if (session->uncommitted >= COMMIT_BYTES) {
        session->uncommitted = 0;
        connection_commit(connection, progress, sizeof(*progress));
    }
}

static void ready(struct connection *connection)
{
    struct session *session = connection_user(connection);
    struct progress *progress = &session->progress;

    if (session->closes_later) {
        connection_close(connection);
        connection_commit(connection, NULL, 0);
        return;
    }
    do {
        if (progress->number == 0 && !begin_request(connection, session)) {
            break;
        }
        read_body(connection, session);
    } while ((progress->left & ~LIFE_FLAGS) == 0 && answer(connection, session));
    if (session->is_strange) {
        connection_abort(connection); /* the peer takes a reset for an error */
        return;
    }
    if (progress->number == 0 && connection_has_ended(connection)) {
        connection_close(connection);
        connection_commit(connection, NULL, 0);
    }
}

static void opened(struct connection *connection, const void *state, size_t bytes)
{
    struct session *session = calloc(1, sizeof(*session));

    expect(bytes == 0 || bytes == sizeof(session->progress));
    if (bytes != 0) {
        memcpy(&session->progress, state, bytes);
    }
    connection_set_user(connection, session);
}

static void gone(struct connection *connection)
{
    free(connection_user(connection));
}

static void serve(void)
{
    static const struct connection_operations operations = {opened, ready, gone};
    static const struct connection_service service = {.port = LIFE_PORT,
                                                      .kept_max = LIFE_KEPT,
                                                      .idle_seconds = IDLE_SECONDS,
                                                      .operations = &operations};

    expect(connection_serve(&service) == RESULT_OK);
}

/* ---- The process ---- */

static void send_frame(const uint8_t *frame, size_t bytes)
{
    if (left.frames == 0) {
        _exit(LIFE_ENDED);
    }
    left.frames -= left.frames != LIFE_ENDLESS;
    if (send(channel, frame, bytes, 0) != (ssize_t)bytes) {
        _exit(LIFE_STRANGE);
    }
}

/* The address to which the peers send if it is not the link-local one, which the interface has. */
static void add_address(void)
{
    struct netif *netif = &stack.interface.netif;
    ip6_addr_t address = {.zone = IP6_NO_ZONE};
    s8_t index;

    memcpy(address.addr, packet_address6[1], sizeof(address.addr));
    if (!ip6_addr_islinklocal(&address)) {
        expect(netif_add_ip6_address(netif, &address, &index) == ERR_OK);
        netif_ip6_addr_set_state(netif, index, IP6_ADDR_PREFERRED);
    }
}

static _Noreturn void live(const struct life_plan *plan)
{
    static uint8_t message[sizeof(uint32_t) + FRAME_MAX];
    ssize_t bytes;

    left = *plan;
    stack.on_sent = send_frame;
    stack.before_address = serve;
    stack_start(BLOCKS);
    add_address();
    for (;;) {
        (void)send(channel, "", 1, 0); /* tells that the life waits for a frame */
        bytes = recv(channel, message, sizeof(message), 0);
        if (bytes < (ssize_t)sizeof(uint32_t)) {
            _exit(0);
        }
        memcpy(&stack.now, message, sizeof(uint32_t));
        if (bytes > (ssize_t)sizeof(uint32_t)) {
            stack_receive(message + sizeof(uint32_t), (size_t)bytes - sizeof(uint32_t));
        }
        sys_check_timeouts();
    }
}

static void *share(size_t bytes)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(mapped, MAP_FAILED);
    return mapped;
}

void life_memory(unsigned slots)
{
    if (shared == NULL) {
        shared = share(sizeof(*shared));
        memory = share(LIFE_KEPT * connection_kept_bytes());
    }
    memset(shared, 0, sizeof(*shared));
    memory_bytes = slots * connection_kept_bytes();
    memset(memory, 0, LIFE_KEPT * connection_kept_bytes());
}

uint8_t *life_memory_start(void)
{
    return memory;
}

size_t life_memory_bytes(void)
{
    return memory_bytes;
}

/* Receives what the life sends until it waits. Returns false if it has ended. */
static bool collect(life_sent sent)
{
    uint8_t frame[FRAME_MAX];
    ssize_t bytes;
    int status;

    while ((bytes = recv(channel, frame, sizeof(frame), 0)) > 1) {
        sent(frame, (size_t)bytes);
    }
    if (bytes == 1) {
        return true;
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    process = 0;
    (void)close(channel);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), LIFE_ENDED);
    return false;
}

bool life_begin(uint32_t now, const struct life_plan *plan, life_sent sent)
{
    int ends[2];

    life_end();
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    shared->lives++;
    process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        (void)close(ends[0]);
        channel = ends[1];
        stack.now = now;
        live(plan);
    }
    (void)close(ends[1]);
    channel = ends[0];
    return collect(sent);
}

bool life_step(uint32_t now, const uint8_t *frame, size_t bytes, life_sent sent)
{
    uint8_t message[sizeof(now) + FRAME_MAX];

    memcpy(message, &now, sizeof(now));
    if (bytes != 0) {
        memcpy(message + sizeof(now), frame, bytes);
    }
    (void)send(channel, message, sizeof(now) + bytes, MSG_NOSIGNAL);
    return collect(sent);
}

void life_end(void)
{
    int status;

    if (process != 0) {
        (void)close(channel);
        (void)waitpid(process, &status, 0);
        process = 0;
    }
}

unsigned life_lines(const char *text)
{
    unsigned count = 0;

    for (unsigned i = 0; i < shared->lines && i < 64; i++) {
        count += strstr(shared->line[i], text) != NULL;
    }
    return count;
}
