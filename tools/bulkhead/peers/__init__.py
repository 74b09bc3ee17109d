# SPDX-License-Identifier: BSD-2-Clause
"""Prepare Linux, RTEMS and Xen, the systems that are compared with ours."""
