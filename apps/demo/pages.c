/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages of the HTTP server: the status page, the status as JSON, and errors. */
#include "http.h"
#include "lwip/mem.h"
#include "status.h"
#include <string.h>

extern const char status_page[];
extern const char status_page_end[];

static void free_status(const char *data)
{
    mem_free((void *)(uintptr_t)data);
}

static void serve_text(struct http_page *page, const char *status)
{
    *page = (struct http_page){
        .status = status, .type = "text/plain", .data = status, .bytes = strlen(status)};
}

void http_error_page(unsigned code, struct http_page *page)
{
    serve_text(page, code == 400   ? "400 Bad Request"
                     : code == 501 ? "501 Not Implemented"
                                   : "503 Service Unavailable");
}

/* Answers with 503 if the status is longer than STATUS_BYTES, or memory does not suffice. */
static void serve_status(struct http_page *page)
{
    char *text = mem_malloc(STATUS_BYTES);
    size_t length = text == NULL ? 0 : status_write(text, STATUS_BYTES);

    if (length != 0) {
        *page = (struct http_page){.status = "200 OK",
                                   .type = "application/json",
                                   .data = text,
                                   .bytes = length,
                                   .release = free_status};
        return;
    }
    if (text != NULL) {
        mem_free(text);
    }
    http_error_page(503, page);
}

void http_find_page(const char *path, struct http_page *page)
{
    if (strcmp(path, "/") == 0 || strcmp(path, "/index.html") == 0) {
        *page = (struct http_page){.status = "200 OK",
                                   .type = "text/html; charset=utf-8",
                                   .data = status_page,
                                   .bytes = (size_t)(status_page_end - status_page)};
    } else if (strcmp(path, "/status.json") == 0) {
        serve_status(page);
    } else {
        serve_text(page, "404 Not Found");
    }
}
