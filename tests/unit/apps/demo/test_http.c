/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The demo's HTTP server on connections that the test plays: requests in pieces and several at
 * once, wrong ones, answers for which there is little room, and what a life before may have left.
 */
#include "http.h"
#include "kernel/connection.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_BYTES 40000u
#define MADE_BYTES 4000u

static char large[PAGE_BYTES];
static unsigned made; /* pages that were made and not released */
static unsigned all_made;

/* The one connection. */
struct connection {
    const struct connection_operations *operations;
    void *user;
    char in[8192];
    size_t in_bytes, read;
    char out[3 * PAGE_BYTES];
    size_t out_bytes, committed;
    size_t room;
    uint8_t state[CONNECTION_STATE_MAX];
    size_t state_bytes;
    bool has_ended, is_closing, is_closed, is_aborted, is_kept, wants_room;
};

static struct connection connection;

void connection_set_user(struct connection *c, void *user)
{
    c->user = user;
}

void *connection_user(const struct connection *c)
{
    return c->user;
}

size_t connection_peek(const struct connection *c, void *buffer, size_t capacity)
{
    size_t bytes = c->in_bytes - c->read < capacity ? c->in_bytes - c->read : capacity;

    memcpy(buffer, c->in + c->read, bytes);
    return bytes;
}

void connection_skip(struct connection *c, size_t bytes)
{
    assert_true(bytes <= c->in_bytes - c->read);
    c->read += bytes;
}

bool connection_has_ended(const struct connection *c)
{
    return c->has_ended;
}

size_t connection_room(const struct connection *c)
{
    return c->room;
}

bool connection_write(struct connection *c, const void *data, size_t bytes)
{
    assert_false(c->is_closing);
    if (bytes > c->room) {
        return false;
    }
    assert_true(c->out_bytes + bytes <= sizeof(c->out));
    memcpy(c->out + c->out_bytes, data, bytes);
    c->out_bytes += bytes;
    c->room -= bytes;
    return true;
}

void connection_await_room(struct connection *c)
{
    c->wants_room = true;
}

void connection_close(struct connection *c)
{
    c->is_closing = true;
}

void connection_commit(struct connection *c, const void *state, size_t bytes)
{
    assert_true(bytes <= CONNECTION_STATE_MAX);
    c->committed = c->out_bytes;
    c->is_closed = c->is_closing;
    c->state_bytes = bytes;
    if (bytes != 0) {
        memcpy(c->state, state, bytes);
    }
}

void connection_abort(struct connection *c)
{
    c->is_aborted = true;
    c->operations->gone(c);
}

bool connection_is_kept(const struct connection *c)
{
    return c->is_kept;
}

enum result connection_serve(const struct connection_service *service)
{
    assert_int_equal(service->port, HTTP_PORT);
    connection.operations = service->operations;
    return RESULT_OK;
}

void print(const char *format, ...)
{
    fail_msg("%s", format);
}

void *mem_calloc(size_t count, size_t bytes)
{
    return calloc(count, bytes);
}

void mem_free(void *memory)
{
    free(memory);
}

/* ---- The pages ---- */

static void release_made(const char *data)
{
    assert_ptr_equal(data, large);
    made--;
}

void http_error_page(unsigned code, struct http_page *page)
{
    *page = (struct http_page){.type = "text/plain", .data = "error", .bytes = 5};
    page->status = code == 400 ? "400" : code == 501 ? "501" : "503";
}

void http_find_page(const char *path, struct http_page *page)
{
    *page = (struct http_page){.status = "200", .type = "text/plain", .data = "small", .bytes = 5};
    if (strcmp(path, "/large") == 0) {
        page->data = large;
        page->bytes = PAGE_BYTES;
    } else if (strcmp(path, "/made") == 0) {
        made++;
        all_made++;
        page->data = large;
        page->bytes = MADE_BYTES;
        page->release = release_made;
    } else if (strcmp(path, "/") != 0) {
        page->status = "404";
    }
}

/* ---- Tests ---- */

static int begin(void **state)
{
    (void)state;
    http_serve();
    connection = (struct connection){
        .operations = connection.operations, .room = CONNECTION_SEND_BYTES, .is_kept = true};
    connection.operations->opened(&connection, NULL, 0);
    for (unsigned i = 0; i < PAGE_BYTES; i++) {
        large[i] = (char)('a' + i % 23);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (!connection.is_aborted) {
        connection.operations->gone(&connection);
    }
    assert_int_equal(made, 0);
    return 0;
}

static void receive(const char *bytes)
{
    memcpy(connection.in + connection.in_bytes, bytes, strlen(bytes));
    connection.in_bytes += strlen(bytes);
    connection.operations->ready(&connection);
}

static unsigned answers(const char *status)
{
    unsigned count = 0;
    char line[32];

    (void)snprintf(line, sizeof(line), "HTTP/1.1 %s\r\n", status);
    for (const char *at = strstr(connection.out, line); at != NULL; at = strstr(at + 1, line)) {
        count++;
    }
    return count;
}

static void requests_in_pieces(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(request); i++) {
        char piece[2] = {request[i], 0};

        assert_int_equal(connection.out_bytes, 0);
        assert_int_equal(connection.read, 0); /* not consumed: a restart delivers it again */
        receive(piece);
    }
    assert_int_equal(answers("200"), 1);
    assert_non_null(strstr(connection.out, "Content-Length: 5\r\n"));
    assert_non_null(strstr(connection.out, "\r\n\r\nsmall"));
    assert_int_equal(connection.committed, connection.out_bytes);
    assert_int_equal(connection.read, connection.in_bytes);
    assert_false(connection.is_closed);
}

static void several_at_once(void **state)
{
    (void)state;
    receive("GET / HTTP/1.1\r\n\r\nHEAD /large?x HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(connection.out, "Content-Length: 40000\r\n"));
    assert_null(strstr(connection.out, "abcdefg"));
    receive("GET /made HTTP/1.1\r\n\r\nGET /no HTTP/1.1\r\n");
    assert_int_equal(answers("200"), 3);
    receive("\r\n");
    assert_int_equal(answers("404"), 1);
}

static void who_closes(void **state)
{
    static const struct {
        const char *request;
        bool closes;
    } cases[] = {
        {"GET / HTTP/1.1\r\nconnection: Close\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nX-Connection: y\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false},
        {"GET / HTTP/1.1\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        end(NULL);
        begin(NULL);
        receive(cases[i].request);
        assert_int_equal(answers("200"), 1);
        assert_int_equal(connection.is_closed, cases[i].closes);
    }
    end(NULL);
    begin(NULL);
    connection.has_ended = true;
    receive("GET / HTTP/1.1\r\n\r\n");
    assert_int_equal(answers("200"), 1);
    assert_true(connection.is_closed);
}

/* Content that is not read is no request, also if it looks like one. */
static void requests_with_content(void **state)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nContent-Length: 22\r\n\r\nGET /no HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\ncontent-length:022\r\n\r\nGET /no HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length : 22\r\n\r\nGET /no HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nGET /no HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: x\r\nConnection: keep-alive\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        end(NULL);
        begin(NULL);
        receive(requests[i]);
        assert_int_equal(answers("200"), 1);
        assert_int_equal(answers("404"), 0);
        assert_true(connection.is_closed);
    }
}

static void wrong_requests(void **state)
{
    static const char *const requests[] = {
        "GET\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET x HTTP/1.1\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/1.\r\n\r\n",
        "GET / HTTP/1.10\r\n\r\n",
        "\r\n\r\n",
        "POST / HTTP/1.1\r\n\r\n",
    };
    static char filler[2100];

    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        end(NULL);
        begin(NULL);
        receive(requests[i]);
        assert_int_equal(answers("400") + answers("501"), 1);
        assert_true(connection.is_closed);
    }
    end(NULL);
    begin(NULL);
    connection.in_bytes = 1; /* a zero */
    receive("GET / HTTP/1.1\r\n\r\n");
    assert_int_equal(answers("400"), 1);
    end(NULL);
    begin(NULL);
    memset(filler, 'x', sizeof(filler));
    filler[sizeof(filler) - 1] = 0;
    receive(filler);
    assert_int_equal(answers("400"), 1);
    assert_true(connection.is_closed);
}

static void give_room(size_t bytes)
{
    assert_true(connection.wants_room);
    connection.wants_room = false;
    connection.room += bytes;
    connection.operations->ready(&connection);
}

/* Each part is committed with what is left. Without the life that began it, another ends it. */
static void a_large_page_in_parts(void **state)
{
    uint8_t kept[CONNECTION_STATE_MAX];
    size_t bytes;

    (void)state;
    receive("GET /large HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert_int_equal(connection.committed, CONNECTION_SEND_BYTES);
    bytes = connection.state_bytes;
    assert_int_not_equal(bytes, 0);
    memcpy(kept, connection.state, bytes);
    connection.operations->gone(&connection);
    connection.operations->opened(&connection, kept, bytes);
    connection.operations->ready(&connection);
    while (answers("200") < 2) {
        give_room(1000);
    }
    assert_int_equal(connection.committed, connection.out_bytes);
    assert_int_equal(connection.state_bytes, 0);
    assert_memory_equal(strstr(connection.out, "\r\n\r\n") + 4, large, PAGE_BYTES);
}

/* A page that no other life can make again goes out as a whole, or has to wait. */
static void a_made_page_is_whole(void **state)
{
    (void)state;
    connection.room = MADE_BYTES - 1;
    all_made = 0;
    receive("GET /made HTTP/1.1\r\n\r\n");
    assert_int_equal(connection.out_bytes, 0);
    assert_int_equal(connection.read, 0);
    for (unsigned i = 0; i < 10; i++) {
        receive("x"); /* the page is not made for each segment that arrives meanwhile */
    }
    assert_int_equal(all_made, 1);
    give_room(500);
    assert_int_equal(connection.committed, connection.out_bytes);
    assert_int_equal(connection.state_bytes, 0);
    assert_memory_equal(strstr(connection.out, "\r\n\r\n") + 4, large, MADE_BYTES);
}

/* A state as it is laid out in kept memory: bytes left, whether to close, path. */
static void open_with(uint32_t left, uint8_t closes, const char *path, size_t bytes)
{
    uint8_t kept[CONNECTION_STATE_MAX] = {0};

    connection.operations->gone(&connection);
    memcpy(kept, &left, sizeof(left));
    kept[4] = closes;
    memcpy(kept + 5, path, strnlen(path, sizeof(kept) - 5));
    connection.operations->opened(&connection, kept, bytes);
}

static void strange_states(void **state)
{
    (void)state;
    open_with(PAGE_BYTES, 1, "/large", CONNECTION_STATE_MAX);
    assert_false(connection.is_aborted);
    open_with(PAGE_BYTES + 1, 0, "/large", CONNECTION_STATE_MAX);
    assert_true(connection.is_aborted);
    begin(NULL);
    open_with(1, 2, "/large", CONNECTION_STATE_MAX);
    assert_true(connection.is_aborted);
    begin(NULL);
    open_with(1, 0, "/a/path/that/ends/with/no/zero", CONNECTION_STATE_MAX);
    assert_true(connection.is_aborted);
    begin(NULL);
    open_with(1, 0, "/made", CONNECTION_STATE_MAX);
    assert_true(connection.is_aborted);
    begin(NULL);
    open_with(1, 0, "/large", 3);
    assert_true(connection.is_aborted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_in_pieces, begin, end),
        cmocka_unit_test_setup_teardown(several_at_once, begin, end),
        cmocka_unit_test_setup_teardown(who_closes, begin, end),
        cmocka_unit_test_setup_teardown(requests_with_content, begin, end),
        cmocka_unit_test_setup_teardown(wrong_requests, begin, end),
        cmocka_unit_test_setup_teardown(a_large_page_in_parts, begin, end),
        cmocka_unit_test_setup_teardown(a_made_page_is_whole, begin, end),
        cmocka_unit_test_setup_teardown(strange_states, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
