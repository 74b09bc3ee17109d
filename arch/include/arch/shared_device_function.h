/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PCI function by which a process of a guest's operating system serves a shared device. BAR 0
 * is a page of registers of 32 bits. All but INTERRUPT_CONTROL are for writing, and do as the calls
 * of a back-end (arch/hypercalls.h), which a process can't make; they read as 0. A write of which
 * the call would fail, or to another register, has no effect.
 *
 * The vendor-specific capability has the guest address of the device's page (arch/shared_device.h).
 * INTA is the doorbell.
 *
 * Bus Master Enable has the meaning of the standard (PCI 3.0, 6.2.2): while it is clear, the
 * process accesses no memory of the client. When it is cleared, the hypervisor no longer waits for
 * the process, until that acknowledges a generation again. A process sets it before. Linux clears
 * it when a process that has opened the function by uio_pci_generic ends in any way.
 */
#ifndef ARCH_SHARED_DEVICE_FUNCTION_H
#define ARCH_SHARED_DEVICE_FUNCTION_H

/* Vendor and device ID. This device ID is one of those for experiments, which need no registration
 * (QEMU, "PCI IDs for QEMU": 1af4:10f0 to 1af4:10ff); the class code is ff0001: no class of the
 * standard, programming interface 1. */
#define SHARED_DEVICE_FUNCTION_IDS   0x10f01af4u
#define SHARED_DEVICE_FUNCTION_CLASS 0xff000100u /* with revision 0 */

/* The vendor-specific capability: offsets of its fields in it, and its bytes. */
#define SHARED_DEVICE_FUNCTION_ONE_SHOT    0x3u /* bit 0: an interrupt disables further ones */
#define SHARED_DEVICE_FUNCTION_INDEX       0x4u /* of the device, as in calls */
#define SHARED_DEVICE_FUNCTION_PAGE        0x8u /* 64 bits: guest address of the page */
#define SHARED_DEVICE_FUNCTION_VENDOR_SIZE 0x10u

/* Registers of BAR 0. */
#define SHARED_DEVICE_FUNCTION_INTERRUPT_CONTROL 0x00u /* bit 0: the doorbell interrupts */
#define SHARED_DEVICE_FUNCTION_INTERRUPT         0x04u /* CALL_SHARED_DEVICE_INTERRUPT: W2 */
#define SHARED_DEVICE_FUNCTION_ACKNOWLEDGE       0x08u /* CALL_SHARED_DEVICE_ACKNOWLEDGE: W2 */
#define SHARED_DEVICE_FUNCTION_VALUE_LOW         0x0cu /* X3 of the next CONFIGURE */
#define SHARED_DEVICE_FUNCTION_VALUE_HIGH        0x10u
#define SHARED_DEVICE_FUNCTION_CONFIGURE         0x14u /* CALL_SHARED_DEVICE_CONFIGURE: W2 */
#define SHARED_DEVICE_FUNCTION_FAIL              0x18u /* CALL_SHARED_DEVICE_FAIL; any value */

#endif
