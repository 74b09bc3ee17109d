# SPDX-License-Identifier: BSD-2-Clause
"""The command behind ./bulkhead: sets up, builds, runs, tests and measures Bulkhead."""
