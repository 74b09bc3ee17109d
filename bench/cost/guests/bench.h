/* SPDX-License-Identifier: BSD-2-Clause */
/* The address and port of the peer in ./bulkhead bench cost, and the port of this guest. */
#ifndef COST_BENCH_H
#define COST_BENCH_H

#define BENCH_ADDRESS "10.77.0.1"
#define BENCH_PORT    9000u
#define OWN_PORT      9001u

#endif
