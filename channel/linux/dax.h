/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that Linux offers as a character device by its DAX drivers. */
#ifndef LINUX_DAX_H
#define LINUX_DAX_H

#include <stdint.h>

/* Opens the DAX device that has the physical memory from `address` on, and sets its offset in the
 * device. Returns the file, or -1 if there is no such device or it can't be opened. */
int dax_open(uint64_t address, uint64_t bytes, uint64_t *offset);

#endif
