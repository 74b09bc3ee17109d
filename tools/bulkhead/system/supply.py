# SPDX-License-Identifier: BSD-2-Clause
"""The processor time that a guest on a shared core receives at least (schedule/supply.h).

The kernel reads it in the guest's devicetree, and analyses its VCPUs as `check` does.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

NAME = "bulkhead,supply"  # property of a VCPU's node below /cpus: the fields, 64 bits each


@dataclass(frozen=True)
class Supply:
    """The supply of a VCPU. Nanoseconds; the fields are those of struct supply."""

    budget: int = 0
    period: int = 0
    delay: int = 0  # from when a part of the budget is available to its execution
    waiting: int = 0  # part of a budget that may wait for the next one
    piece: int = 0  # the shortest piece of a budget
    cost: int = 0  # of each piece, for the hypervisor

    @property
    def cells(self) -> list[int]:
        """The value of the property."""
        return [cell for each in astuple(self) for cell in (each >> 32, each & 0xFFFFFFFF)]


NO_SUPPLY = Supply()  # guarantees nothing
