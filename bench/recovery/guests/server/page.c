/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages of the server (apps/demo/http.h): one page for each path. */
#include "page.h"
#include "http.h"
#include "page_text.h"
#include <string.h>

static char text[PAGE_LENGTH];

void page_make(void)
{
    for (uint32_t i = 0; i < PAGE_LENGTH; i++) {
        text[i] = page_letter(i);
    }
}

/* The bench notes the instructions at each call, which is one for each request. */
__attribute__((noinline)) void http_find_page(const char *path, struct http_page *page)
{
    (void)path;
    *page = (struct http_page){
        .status = "200 OK", .type = "text/plain", .data = text, .bytes = sizeof(text)};
}

void http_error_page(unsigned code, struct http_page *page)
{
    const char *status = code == 400   ? "400 Bad Request"
                         : code == 501 ? "501 Not Implemented"
                                       : "503 Service Unavailable";

    *page = (struct http_page){
        .status = status, .type = "text/plain", .data = status, .bytes = strlen(status)};
}
