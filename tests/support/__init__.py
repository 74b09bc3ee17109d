# SPDX-License-Identifier: BSD-2-Clause
"""Modules that tests of several files share: machines, guests, models of boards, network peers."""
