/* SPDX-License-Identifier: BSD-2-Clause */
/* The status page with its HTTP header, ready to be sent. status.html is found on the include
 * path. */
    .section .rodata.status_page, "a"
    .global status_page
    .global status_page_end
status_page:
    .ascii "HTTP/1.0 200 OK\r\n"
    .ascii "Content-Type: text/html; charset=utf-8\r\n"
    .ascii "Cache-Control: no-store\r\n"
    .ascii "Connection: close\r\n"
    .ascii "\r\n"
    .incbin "status.html"
status_page_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
