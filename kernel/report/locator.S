/* SPDX-License-Identifier: BSD-2-Clause */
/* The report locator (kernel/report.h). guest.ld places it behind the image's header. */

#include "kernel_offsets.h"

    .section .text.report_locator, "a"
    .global report_locator
report_locator:
    .quad REPORT_MAGIC
    .quad report_directory - report_locator
