/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of the server's page. */
#ifndef RECOVERY_PAGE_TEXT_H
#define RECOVERY_PAGE_TEXT_H

/* Writes the page, which is the same in each life. Call it before http_serve(). */
void page_make(void);

#endif
