# SPDX-License-Identifier: BSD-2-Clause
"""Start guests in QEMU, connect and watch them, and end them."""
