# SPDX-License-Identifier: BSD-2-Clause
"""Reads running machines: their memory, and the counters, interrupts and channels of systems."""
