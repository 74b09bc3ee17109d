# SPDX-License-Identifier: BSD-2-Clause
"""What the command needs from the system, and how it is installed."""
