# SPDX-License-Identifier: BSD-2-Clause
"""Packages of the system: detecting and installing them."""
