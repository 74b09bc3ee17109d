# SPDX-License-Identifier: BSD-2-Clause
"""Linux, RTEMS and Xen: systems that are compared with ours."""
