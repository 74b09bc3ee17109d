/* SPDX-License-Identifier: BSD-2-Clause */
/* Types of the manager that the tools use (tools/layouts/layout.h). */
#include "layout.h"

#include "calls.h"
#include "request_page.h"
#include <arch/hypercalls.h>
#include <stdint.h>

void layouts_requests(void);

void layouts_requests(void)
{
    LAYOUT_CONSTANT(REQUEST_PAGE_MAGIC);
    LAYOUT_CONSTANT(RESULT_NOT_REACHED);
    LAYOUT_CONSTANT(REQUEST_GIVE);
    LAYOUT_ENUMERATOR(order_command, ORDER_, CREATE);
    LAYOUT_ENUMERATOR(order_command, ORDER_, START);
    LAYOUT_ENUMERATOR(order_command, ORDER_, STOP);
    LAYOUT_ENUMERATOR(order_command, ORDER_, REPLACE);
    LAYOUT_ENUMERATOR(order_command, ORDER_, DESTROY);
    LAYOUT_ENUMERATOR(order_command, ORDER_, CRASH);
    LAYOUT_ENUMERATOR(partition_state, PARTITION_STATE_, ABSENT);
    LAYOUT_ENUMERATOR(partition_state, PARTITION_STATE_, STOPPED);
    LAYOUT_ENUMERATOR(partition_state, PARTITION_STATE_, RUNNING);
    LAYOUT_ENUMERATOR(partition_state, PARTITION_STATE_, BUSY);
    LAYOUT_ENUMERATOR(partition_state, PARTITION_STATE_, FAILED);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, NOT_SUPPORTED);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, INVALID);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, BUSY);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, WRONG_STATE);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, NEVER_RESTARTS);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, BAD_IMAGE);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, TOO_LARGE);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, DAMAGED);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, CHANGED);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, NOT_ISOLATED);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, RESET_FAILED);
    LAYOUT_ENUMERATOR(manager_result, MANAGER_, RESTARTS_USED_UP);
    LAYOUT_WHOLE_STRUCT(staged);
    LAYOUT_NUMBER(staged, bytes);
    LAYOUT_NUMBER(staged, offset);
    LAYOUT_NUMBER(staged, checksum);
    LAYOUT_STRUCT(request_page);
    LAYOUT_NUMBER(request_page, magic);
    LAYOUT_NUMBER(request_page, request);
    LAYOUT_NUMBER(request_page, answer);
    LAYOUT_NUMBER(request_page, command);
    LAYOUT_NUMBER(request_page, partition);
    LAYOUT_NESTED(request_page, image, staged);
    LAYOUT_NUMBER(request_page, result);
    LAYOUT_NUMBERS(request_page, states);
    LAYOUT_NUMBERS(request_page, images);
    LAYOUT_NUMBERS(request_page, results);
    LAYOUT_NUMBERS(request_page, errors);
}
