# SPDX-License-Identifier: BSD-2-Clause
"""Connects channels of several boards over a network, by Eclipse Zenoh: bulkhead-channel bridge.

docs/fleet.md describes the command, the keys and the format.
"""
