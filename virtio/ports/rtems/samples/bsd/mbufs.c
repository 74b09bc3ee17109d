/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics of the stack's memory, which only the stack's internal headers declare. */
#define _KERNEL 1

#include <rtems/rtems_bsdnet.h>
#include <sys/param.h>

#include <sys/mbuf.h>

#include "sample.h"

void mbufs_print(FILE *stream)
{
    (void)fprintf(stream,
                  "mbufs %lu\nmbufs_free %u\nclusters %lu\nclusters_free %lu\nmbuf_drops %lu\n",
                  mbstat.m_mbufs, mbstat.m_mtypes[MT_FREE], mbstat.m_clusters, mbstat.m_clfree,
                  mbstat.m_drops);
}
