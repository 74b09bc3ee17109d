/* SPDX-License-Identifier: BSD-2-Clause */
/* The hypervisor's memcpy and memset by other names, for a guest that has those of libc/ too. */
#define memcpy hypervisor_memcpy
#define memset hypervisor_memset
#include "../../hypervisor/memory/copy.S"
