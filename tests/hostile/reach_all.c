/* SPDX-License-Identifier: BSD-2-Clause */
/* The device can access the rings, and what the owner has given to the driver. */
#include "hostile.h"

const bool memory_has_pool = false;
