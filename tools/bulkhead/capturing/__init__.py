# SPDX-License-Identifier: BSD-2-Clause
"""Capture the frames of shared devices' clients."""
