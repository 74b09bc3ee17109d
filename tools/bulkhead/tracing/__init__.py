# SPDX-License-Identifier: BSD-2-Clause
"""Reads what a guest's kernel keeps for tools, and shows the trace of its schedule."""
