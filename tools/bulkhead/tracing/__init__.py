# SPDX-License-Identifier: BSD-2-Clause
"""Read the records of a guest's kernel for tools, and show the trace of its schedule."""
