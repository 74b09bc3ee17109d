/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers of the PL031, a real-time clock (Arm DDI 0224, 3.2): offsets, and bits of RTCCR. */
#ifndef DEVICES_RTC_REGISTERS_H
#define DEVICES_RTC_REGISTERS_H

#define RTCDR        0x000u /* seconds since 1970-01-01 00:00 UTC */
#define RTCCR        0x00cu
#define RTCICR       0x01cu
#define RTCPERIPHID0 0xfe0u /* the first of 8 identification registers */

#define RTC_CONTROL_START 1u

#endif
