/* SPDX-License-Identifier: BSD-2-Clause */
/* The device can access a pool, and nothing else (virtio/pool.h). */
#include "hostile.h"

const bool memory_has_pool = true;
