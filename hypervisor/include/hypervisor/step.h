/* SPDX-License-Identifier: BSD-2-Clause */
/* The outcome of a step of work that the hypervisor does in steps, so that no exit takes long. */
#ifndef HYPERVISOR_STEP_H
#define HYPERVISOR_STEP_H

enum step_outcome {
    STEP_PENDING, /* the work needs another step */
    STEP_DONE,    /* the work is done */
    STEP_FAILED   /* hardware does not answer: the work, or this step, has not had its effect */
};

#endif
