# SPDX-License-Identifier: BSD-2-Clause
"""Implement ./bulkhead: set up, build, run, test and measure."""
