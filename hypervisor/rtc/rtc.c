/* SPDX-License-Identifier: BSD-2-Clause */
#include "rtc/rtc.h"

#include <devices/rtc_registers.h>

/* RTCPeriphID0 to 3 and RTCPCellID0 to 3 (DDI 0224, 3.3.9 and 3.3.10): a PL031, revision 0. */
static const uint8_t identification[] = {0x31, 0x10, 0x04, 0x00, 0x0d, 0xf0, 0x05, 0xb1};

/* The clock has no alarm: RTCMR, RTCIMSC, RTCRIS and RTCMIS read as 0. So does RTCLR, which would
 * set the clock. */
static uint32_t read_register(uint64_t seconds, uint64_t offset)
{
    if (offset >= RTCPERIPHID0) {
        return identification[(offset - RTCPERIPHID0) / 4];
    }
    switch (offset) {
    case RTCDR:
        return (uint32_t)seconds;
    case RTCCR:
        return RTC_CONTROL_START;
    default:
        return 0;
    }
}

enum access_result rtc_access(uint64_t seconds, struct access *access)
{
    uint64_t offset = access->offset;

    if (access->write) {
        /* Drivers start the clock, which runs, and clear the interrupt, which is never raised. */
        return offset == RTCCR || offset == RTCICR ? ACCESS_DONE : ACCESS_REFUSED;
    }
    access->value = 0;
    if (offset % 4 != 0 || access->bytes != 4 || (offset > RTCICR && offset < RTCPERIPHID0)) {
        return ACCESS_REFUSED;
    }
    access->value = read_register(seconds, offset);
    return ACCESS_DONE;
}
