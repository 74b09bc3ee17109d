# SPDX-License-Identifier: BSD-2-Clause
"""Read running machines: their memory, and the counters, interrupts and channels of systems."""
