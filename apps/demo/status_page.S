/* SPDX-License-Identifier: BSD-2-Clause */
/* The status page. status.html is found on the include path. */
    .section .rodata.status_page, "a"
    .global status_page
    .global status_page_end
status_page:
    .incbin "status.html"
status_page_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
