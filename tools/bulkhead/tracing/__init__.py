# SPDX-License-Identifier: BSD-2-Clause
"""Read what a guest's kernel keeps for tools, and show the trace of its schedule."""
