/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The demo's HTTP server (RFC 9112): GET and HEAD of pages in memory, on connections that may carry
 * several requests and that survive a restart if the partition has kept memory.
 *
 * A request and its answer are one unit (connection_commit()): after a restart a request that was
 * not answered is answered, and an answer that was begun is continued with the same bytes. A page
 * that is larger than the send buffer of a connection is committed in parts; the state of a part
 * says how much of which page is still to be sent.
 */
#ifndef DEMO_HTTP_H
#define DEMO_HTTP_H

#include <stddef.h>
#include <stdint.h>

#define HTTP_PORT 80u

/* Connections that are kept, if there is memory for them: as many as lwIP has control blocks
 * (MEMP_NUM_TCP_PCB), so that no burst of clients makes one that is not kept. */
#define HTTP_KEPT_MAX 32u

/* A page. */
struct http_page {
    const char *status; /* "200 OK" */
    const char *type;   /* of the content (RFC 9110, 8.3) */
    const char *data;
    size_t bytes;
    /* NULL: the data is the same in each life of this image, for ever. Otherwise the data was made
     * for this answer, and this function frees it. */
    void (*release)(const char *data);
};

/* Fills in the page that `path` names, which the server passes without its query. Unknown paths get
 * the page of an error. Core lock held. */
void http_find_page(const char *path, struct http_page *page);
/* Fills in the page of an error: 400, 501 or 503. */
void http_error_page(unsigned code, struct http_page *page);

/* Restores connections and listens. Call it in the function that network_at_start() names. */
void http_serve(void);

#endif
