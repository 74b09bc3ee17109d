# SPDX-License-Identifier: BSD-2-Clause
"""The fault campaign: ./bulkhead campaign."""
