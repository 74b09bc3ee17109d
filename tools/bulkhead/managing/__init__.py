# SPDX-License-Identifier: BSD-2-Clause
"""Sends orders to the manager of a running system."""
