/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers of the generic watchdog of SBSA and BSA (Arm DEN0029, DEN0094: "Generic Watchdog"):
 * offsets in its two frames, and fields. */
#ifndef DEVICES_WATCHDOG_REGISTERS_H
#define DEVICES_WATCHDOG_REGISTERS_H

#define WATCHDOG_FRAME_BYTES 0x1000u

/* Refresh frame. */
#define WRR 0x000u

/* Control frame. WOR and WCV have 64 bits, of which WOR implements 48 (32 in version 0). */
#define WCS 0x000u
#define WOR 0x008u
#define WCV 0x010u

/* Both frames. */
#define W_IIDR 0xfccu

#define WCS_ENABLE  1u
#define WCS_SIGNAL0 2u /* WS0, read-only */
#define WCS_SIGNAL1 4u /* WS1, read-only */

#define WOR_BITS 48u

#define W_IIDR_VERSION_1 (1u << 16) /* architecture version: WOR has 48 bits */

#endif
