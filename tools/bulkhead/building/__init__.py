# SPDX-License-Identifier: BSD-2-Clause
"""Build the libraries and guest images."""
