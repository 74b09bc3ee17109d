/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/stack_call.h"

#include "lwip/tcpip.h"

void network_call_in_stack(void (*function)(void *argument), void *argument)
{
    if (tcpip_try_callback(function, argument) != ERR_OK) {
        function(argument);
    }
}
