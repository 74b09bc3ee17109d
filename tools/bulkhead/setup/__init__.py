# SPDX-License-Identifier: BSD-2-Clause
"""Detect and install packages of the system."""
