# SPDX-License-Identifier: BSD-2-Clause
"""Linux, RTEMS and Xen: the systems that are measured beside ours."""
