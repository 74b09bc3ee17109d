/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of lwIP's HTTP server: the status page, the status as JSON, and error pages. The server
 * opens each by fs_open_custom(), under the core lock.
 */
#include "lwip/apps/fs.h"
#include "lwip/mem.h"
#include "status.h"
#include <stdio.h>
#include <string.h>

#define HEADER_BYTES 192u

extern const char status_page[];
extern const char status_page_end[];

/* Called by lwIP, which declares them only for its own use. */
int fs_open_custom(struct fs_file *file, const char *name);
void fs_close_custom(struct fs_file *file);

#define PLAIN(status)                                                                \
    "HTTP/1.0 " status "\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\n" \
    "Connection: close\r\n\r\n" status "\n"

static const char page_400[] = PLAIN("400 Bad Request");
static const char page_404[] = PLAIN("404 Not Found");
static const char page_501[] = PLAIN("501 Not Implemented");
static const char page_503[] = PLAIN("503 Service Unavailable");

static int serve(struct fs_file *file, const char *data, size_t bytes, void *owned)
{
    memset(file, 0, sizeof(*file));
    file->data = data;
    file->len = (int)bytes;
    file->index = (int)bytes;
    file->flags = FS_FILE_FLAGS_HEADER_INCLUDED;
    file->pextension = owned; /* freed when the file is closed */
    return 1;
}

/* Answers with 503 if the status is longer than STATUS_BYTES, or memory does not suffice. */
static int serve_status(struct fs_file *file)
{
    char *answer = mem_malloc(HEADER_BYTES + STATUS_BYTES);
    size_t length;
    int header;

    if (answer == NULL) {
        return serve(file, page_503, sizeof(page_503) - 1, NULL);
    }
    /* The header contains the text's length. Therefore the text is written first, after the
     * header's place, and then moved up to the header. */
    length = status_write(answer + HEADER_BYTES, STATUS_BYTES);
    if (length == 0) {
        mem_free(answer);
        return serve(file, page_503, sizeof(page_503) - 1, NULL);
    }
    header = snprintf(answer, HEADER_BYTES,
                      "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n"
                      "Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
                      length);
    memmove(answer + header, answer + HEADER_BYTES, length);
    return serve(file, answer, (size_t)header + length, answer);
}

int fs_open_custom(struct fs_file *file, const char *name)
{
    if (strcmp(name, "/index.html") == 0) {
        return serve(file, status_page, (size_t)(status_page_end - status_page), NULL);
    }
    if (strcmp(name, "/status.json") == 0) {
        return serve_status(file);
    }
    if (strcmp(name, "/400.html") == 0) {
        return serve(file, page_400, sizeof(page_400) - 1, NULL);
    }
    if (strcmp(name, "/404.html") == 0) {
        return serve(file, page_404, sizeof(page_404) - 1, NULL);
    }
    if (strcmp(name, "/501.html") == 0) {
        return serve(file, page_501, sizeof(page_501) - 1, NULL);
    }
    return 0;
}

void fs_close_custom(struct fs_file *file)
{
    if (file->pextension != NULL) {
        mem_free(file->pextension);
        file->pextension = NULL;
    }
}
