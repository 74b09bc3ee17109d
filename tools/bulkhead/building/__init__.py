# SPDX-License-Identifier: BSD-2-Clause
"""Building the libraries and guest images."""
