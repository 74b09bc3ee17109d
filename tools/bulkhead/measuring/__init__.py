# SPDX-License-Identifier: BSD-2-Clause
"""Benches, and the means by which they measure."""
