# SPDX-License-Identifier: BSD-2-Clause
"""Run benches, and measure for them."""
