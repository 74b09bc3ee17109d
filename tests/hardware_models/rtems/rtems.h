/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of RTEMS that the port's PCI walk needs, on the host. */
#ifndef RTEMS_H
#define RTEMS_H

#include <stdint.h>

typedef uint32_t rtems_vector_number;

#endif
