/* SPDX-License-Identifier: BSD-2-Clause */
/* The mail of a VCPU on a shared core: a word of bits. The VCPUs of its partition set them, by
 * atomic operations. The monitors of its processor clear them. */
#ifndef SCHEDULER_STATE_H
#define SCHEDULER_STATE_H

#define MAIL_SGIS    0xffffu  /* bit n: SGI n */
#define MAIL_MESSAGE 0x10000u /* a message of another monitor; stays until the VCPU executes */
#define MAIL_REQUEST 0x20000u /* a request for an access to its Redistributor (remote_access.h) */
/* SGIs and requests stay in the mail until the VCPU executes. Whoever sends the first of them calls
 * the core. The core's monitor then takes them or wakes the VCPU, which takes them as soon as it
 * executes. */
#define MAIL_WAITING (MAIL_SGIS | MAIL_REQUEST)

#endif
