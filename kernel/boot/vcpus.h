/* SPDX-License-Identifier: BSD-2-Clause */
/* The VCPUs that the boot argument `vcpus` describes (vcpu_arguments.h). */
#ifndef BOOT_VCPUS_H
#define BOOT_VCPUS_H

/*
 * Tells admission the processor time that the kernel receives (boot/supply.h).
 * Creates the VCPUs of the boot argument, and binds the calling thread and every thread that is
 * created later to the VCPU that names it. If the argument is malformed, or one of its VCPUs is
 * refused, prints a line and creates none. First thread, before it creates others.
 */
void vcpus_start(void);

#endif
