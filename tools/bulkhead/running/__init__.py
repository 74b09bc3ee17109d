# SPDX-License-Identifier: BSD-2-Clause
"""Guests in QEMU: starting, connecting, watching and ending them."""
