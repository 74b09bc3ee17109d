/* SPDX-License-Identifier: BSD-2-Clause */
/* The server of ./bulkhead bench recovery: the demo's HTTP server with one page, and faults when a
 * client orders them. */
#include "http.h"
#include "kernel/application.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "orders.h"
#include "page_text.h"

int application_main(void)
{
    page_make();
    network_at_start(http_serve);
    if (network_start() != RESULT_OK || !orders_take(NULL)) {
        print("FAIL: server: can't start\n");
        return 1;
    }
    print("server: ready\n");
    for (;;) {
        thread_sleep_until(DEADLINE_NONE);
    }
}
