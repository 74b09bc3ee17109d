/* SPDX-License-Identifier: BSD-2-Clause */
/* What virtio/ports/rtems/discovery.c uses of RTEMS's directives, for test_rtems_discovery.c. */
#ifndef TESTS_VIRTIO_RTEMS_H
#define TESTS_VIRTIO_RTEMS_H

#include <stdint.h>

typedef uint32_t rtems_vector_number;
typedef uint32_t rtems_option;
typedef enum { RTEMS_SUCCESSFUL, RTEMS_UNSATISFIED } rtems_status_code;

#endif
