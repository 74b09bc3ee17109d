# SPDX-License-Identifier: BSD-2-Clause
"""The transports and ring formats that tests of the device suite run on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from support.parked import Case, Outcome
from support.transports import MQ, RINGS, TRANSPORTS, Transport

Run = Callable[[Case], Outcome]
BY_NAME = {each.name: each for each in TRANSPORTS}


def named(*names: str) -> pytest.MarkDecorator:
    chosen = [BY_NAME[name] for name in names]
    return pytest.mark.parametrize("transport", chosen, ids=lambda each: each.name)


def rings(*names: str, of: Sequence[str] = tuple(RINGS)) -> pytest.MarkDecorator:
    """Parametrize with each of the named transports and each of its ring formats."""
    chosen = [
        pytest.param(BY_NAME[name], ring, id=f"{name}-{ring}")
        for name in names
        for ring in BY_NAME[name].rings
        if ring in of
    ]
    return pytest.mark.parametrize(("transport", "ring"), chosen)


each_transport_and_ring = rings(*BY_NAME)
# Each interface, machine and interrupt type at least once, but not all combinations.
MODERN_KINDS = ("mmio-2", "pci-modern-virt-intx", "pci-transitional-q35-msix1",
                "pci-modern-q35-msix3")  # fmt: skip
LEGACY_KINDS = ("mmio-1", "pci-legacy-q35-intx", "pci-legacy-virt-msix2")
each_kind = named(*MODERN_KINDS, *LEGACY_KINDS)
each_kind_and_ring = rings(*MODERN_KINDS, *LEGACY_KINDS)
each_modern_kind = named(*MODERN_KINDS)
each_legacy_kind = named(*LEGACY_KINDS)


def pairs_case(transport: Transport, name: str, ring: str, *, device: int, asked: int) -> Case:
    """Return a case on a device with `device` queue pairs and a driver that asks for `asked`."""
    return transport.case(
        name,
        ring,
        options={"mq": "on"} if device > 1 else {},
        added=MQ.mask if device > 1 and asked > 1 else 0,
        vnet=True,
        queues=device,
        device_pairs=device,
        pairs=asked,
    )
