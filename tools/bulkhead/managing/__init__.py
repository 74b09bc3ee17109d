# SPDX-License-Identifier: BSD-2-Clause
"""Send orders to the manager of a running system."""
