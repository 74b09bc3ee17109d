/* SPDX-License-Identifier: BSD-2-Clause */
/* See http.h. */
#include "http.h"
#include "kernel/connection.h"
#include "kernel/print.h"
#include "lwip/mem.h"
#include <stdio.h>
#include <string.h>

#define REQUEST_BYTES 2048u /* largest request */
#define PATH_BYTES    128u
#define HEADER_BYTES  256u
#define IDLE_SECONDS  30u

/* The state of an answer that is being sent, as a commit keeps it. `left`: bytes that are not
 * written yet. `path` names a page that is the same in each life. */
struct progress {
    uint32_t left; /* bytes */
    uint8_t closes;
    char path[CONNECTION_STATE_MAX - 5];
} __attribute__((packed));

_Static_assert(sizeof(struct progress) == CONNECTION_STATE_MAX, "fills the state");

/* A connection. */
struct session {
    struct http_page page; /* being sent; data NULL: none */
    size_t needed;         /* room for which the next answer waits, 0: it does not */
    struct progress progress;
};

/* A request, parsed. */
struct request {
    size_t bytes;
    bool is_head;
    bool closes;    /* the client does not want the connection to stay */
    unsigned error; /* 0, 400 or 501 */
    char path[PATH_BYTES];
};

/* Under the core lock. */
static char text[REQUEST_BYTES + 1];

/* ---- Requests ---- */

/* Returns true if the header field's value has the word, in any case (RFC 9110, 5.6). */
static bool has_word(const char *value, const char *end, const char *word)
{
    size_t length = strlen(word);

    for (; value + length <= end; value++) {
        size_t i = 0;

        while (i < length && (value[i] | 0x20) == word[i]) {
            i++;
        }
        if (i == length) {
            return true;
        }
    }
    return false;
}

/* Returns the end of the line without its CR LF; NULL if it has none. */
static const char *line_end(const char *line)
{
    return strstr(line, "\r\n");
}

static bool begins_with(const char *line, const char *end, const char *name)
{
    size_t length = strlen(name);

    return length <= (size_t)(end - line) && has_word(line, line + length, name);
}

/* Returns true if the field says that the request has content (RFC 9112, 6). Its colon need not
 * follow at once, because another server may be less strict. */
static bool tells_content(const char *line, const char *end)
{
    const char *value = line + strlen("content-length");

    if (begins_with(line, end, "transfer-encoding")) {
        return true;
    }
    if (!begins_with(line, end, "content-length")) {
        return false;
    }
    while (value < end && strchr(": \t0", *value) != NULL) {
        value++;
    }
    return value != end;
}

/* Reads the fields that say whether the connection stays (RFC 9112, 9.3). It does not if the
 * request has content, which is not read: the server would take it for the next request. */
static void parse_fields(struct request *request, const char *line)
{
    bool closes = false, stays = !request->closes;

    for (const char *end = line_end(line); end != NULL && end != line; end = line_end(line)) {
        if (begins_with(line, end, "connection:")) {
            closes = closes || has_word(line + 11, end, "close");
            stays = stays || has_word(line + 11, end, "keep-alive");
        }
        closes = closes || tells_content(line, end);
        line = end + 2;
    }
    request->closes = closes || !stays;
}

/* Copies the path without its query (RFC 9112, 3.2.1). Returns the text behind the target; NULL if
 * the target has no valid form. */
static const char *parse_target(struct request *request, const char *target)
{
    const char *end = target;
    size_t length;

    while (*end != '?' && *end > ' ') {
        end++;
    }
    length = (size_t)(end - target);
    while (*end > ' ') {
        end++;
    }
    if (*target != '/' || *end != ' ' || length >= PATH_BYTES) {
        return NULL;
    }
    memcpy(request->path, target, length);
    request->path[length] = '\0';
    return end + 1;
}

/* Parses a whole request that begins with the text. */
static void parse(struct request *request)
{
    bool is_get = strncmp(text, "GET ", 4) == 0;
    const char *version;

    request->is_head = strncmp(text, "HEAD ", 5) == 0;
    request->closes = true;
    if (!is_get && !request->is_head) {
        request->error = 501;
        return;
    }
    version = parse_target(request, text + (is_get ? 4 : 5));
    if (version == NULL || strncmp(version, "HTTP/1.", 7) != 0 || version[7] < '0' ||
        version[7] > '9' || strncmp(version + 8, "\r\n", 2) != 0) {
        request->error = 400;
        return;
    }
    request->closes = version[7] == '0';
    parse_fields(request, version + 10);
}

/* Finds the next request among the unread bytes. Returns false if it is not complete yet. */
static bool next_request(const struct connection *connection, struct request *request)
{
    size_t bytes = connection_peek(connection, text, REQUEST_BYTES);
    const char *end;

    *request = (struct request){.error = 0};
    text[bytes] = '\0';
    end = strstr(text, "\r\n\r\n");
    if (end == NULL || strlen(text) != bytes) {
        bool is_wrong = bytes == REQUEST_BYTES || strlen(text) != bytes;

        *request = (struct request){.bytes = bytes, .error = 400, .closes = true};
        return is_wrong;
    }
    request->bytes = (size_t)(end - text) + 4;
    parse(request);
    return true;
}

/* ---- Answers ---- */

static void release_page(struct session *session)
{
    if (session->page.release != NULL) {
        session->page.release(session->page.data);
    }
    session->page = (struct http_page){.data = NULL};
}

/* Writes as much of the page as there is room for. */
static void write_part(struct connection *connection, struct session *session)
{
    size_t left = session->progress.left;
    size_t room = connection_room(connection);
    size_t part = left < room ? left : room;
    const char *data = session->page.data + session->page.bytes - left;

    if (part != 0 && connection_write(connection, data, part)) {
        session->progress.left = (uint32_t)(left - part);
    }
    if (session->progress.left != 0) {
        connection_await_room(connection);
    }
}

/* Commits what was written, and closes the connection behind the last byte. */
static void commit(struct connection *connection, struct session *session)
{
    if (session->progress.left != 0) {
        connection_commit(connection, &session->progress, sizeof(session->progress));
        return;
    }
    release_page(session);
    if (session->progress.closes != 0) {
        connection_close(connection);
    }
    connection_commit(connection, NULL, 0);
}

static int write_header(char *header, const struct http_page *page, bool closes)
{
    return snprintf(header, HEADER_BYTES,
                    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                    "Cache-Control: no-store\r\nConnection: %s\r\n\r\n",
                    page->status, page->type, page->bytes, closes ? "close" : "keep-alive");
}

/* Returns true if the answer may be sent in parts, because a restart finds the rest of it by its
 * path. The pages of errors have none, and are short. */
static bool is_divisible(const struct connection *connection, const struct http_page *page)
{
    return (page->release == NULL && page->bytes > PATH_BYTES) || !connection_is_kept(connection);
}

/* Begins the answer to a request. Returns false if it has to wait for room. */
static bool answer(struct connection *connection, struct session *session,
                   const struct request *request)
{
    char header[HEADER_BYTES];
    size_t length, needed;

    /* The page is made when there is room for it, and not for each segment that arrives before. */
    if (session->needed > connection_room(connection)) {
        connection_await_room(connection);
        return false;
    }
    if (request->error != 0) {
        http_error_page(request->error, &session->page);
    } else {
        http_find_page(request->path, &session->page);
    }
    length = (size_t)write_header(header, &session->page, request->closes);
    needed = length + (is_divisible(connection, &session->page) ? 0 : session->page.bytes);
    if (needed > CONNECTION_SEND_BYTES) {
        release_page(session);
        http_error_page(503, &session->page);
        length = (size_t)write_header(header, &session->page, request->closes);
        needed = length;
    }
    if (needed > connection_room(connection) || !connection_write(connection, header, length)) {
        release_page(session);
        session->needed = needed;
        connection_await_room(connection);
        return false;
    }
    session->needed = 0;
    session->progress = (struct progress){
        .left = request->is_head ? 0 : (uint32_t)session->page.bytes,
        .closes = request->closes,
    };
    memcpy(session->progress.path, request->path,
           strnlen(request->path, sizeof(session->progress.path) - 1));
    connection_skip(connection, request->bytes);
    write_part(connection, session);
    commit(connection, session);
    return true;
}

/* ---- The connection ---- */

static void ready(struct connection *connection)
{
    struct session *session = connection_user(connection);
    struct request request;
    bool is_progressing = true;

    while (is_progressing) {
        if (session->page.data != NULL) {
            uint32_t left = session->progress.left;

            write_part(connection, session);
            is_progressing = session->progress.left != left;
            if (is_progressing) {
                commit(connection, session);
            }
        } else if (session->progress.closes != 0) {
            return;
        } else if (next_request(connection, &request)) {
            is_progressing = answer(connection, session, &request);
        } else {
            if (connection_has_ended(connection)) {
                connection_close(connection);
                connection_commit(connection, NULL, 0);
            }
            return;
        }
    }
}

/* Continues the answer that the life before has begun. Returns false if the state is not valid. */
static bool resume(struct session *session, const void *state, size_t bytes)
{
    struct progress *progress = &session->progress;

    if (bytes == 0) {
        return true;
    }
    if (bytes != sizeof(*progress)) {
        return false;
    }
    memcpy(progress, state, sizeof(*progress));
    if (progress->path[sizeof(progress->path) - 1] != '\0' || progress->closes > 1) {
        return false;
    }
    http_find_page(progress->path, &session->page);
    return session->page.release == NULL && progress->left <= session->page.bytes;
}

static void opened(struct connection *connection, const void *state, size_t bytes)
{
    struct session *session = mem_calloc(1, sizeof(*session));

    connection_set_user(connection, session);
    if (session == NULL || !resume(session, state, bytes)) {
        connection_abort(connection);
    }
}

static void gone(struct connection *connection)
{
    struct session *session = connection_user(connection);

    if (session != NULL) {
        release_page(session);
        mem_free(session);
    }
}

void http_serve(void)
{
    static const struct connection_operations operations = {
        .opened = opened, .ready = ready, .gone = gone};
    static const struct connection_service service = {.port = HTTP_PORT,
                                                      .kept_max = HTTP_KEPT_MAX,
                                                      .idle_seconds = IDLE_SECONDS,
                                                      .operations = &operations};
    enum result result = connection_serve(&service);

    if (result != RESULT_OK) {
        print("demo: no http: %s\n", result_text(result));
    }
}
