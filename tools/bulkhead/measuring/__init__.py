# SPDX-License-Identifier: BSD-2-Clause
"""Benches, and how they measure."""
