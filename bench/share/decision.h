/* SPDX-License-Identifier: BSD-2-Clause */
/* The hypervisor's schedulers of shared cores, in a program that counts their instructions. */
#ifndef SHARE_DECISION_H
#define SHARE_DECISION_H

/* Prints the instructions of a decision of each scheduler with 2 and with 32 VCPUs, where a tick of
 * the counter is an instruction. */
void count_decisions(void);

#endif
