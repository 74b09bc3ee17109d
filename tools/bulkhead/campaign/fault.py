# SPDX-License-Identifier: BSD-2-Clause
"""The faults of a campaign, drawn from a seed. A fault is the same in each run of its seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Place(Enum):
    """What of the victim a fault changes."""

    CODE = "code"
    CONSTANTS = "constants"
    DATA = "data"
    HEAP = "heap"
    STACKS = "stacks"
    TABLES = "page tables"
    SAVED = "saved registers"
    REGISTERS = "registers"
    RINGS = "rings"
    CHANNEL = "channel"
    DEVICE = "device registers"
    CONFIGURATION = "configuration space"
    KEPT = "kept memory"


class Kind(Enum):
    """How a fault changes it."""

    FLIP = "bit flip"
    STUCK = "stuck word"
    SKIP = "skipped instruction"
    HANG = "hang"
    LIVELOCK = "livelock"
    DMA = "wild DMA"
    MALICIOUS = "malicious device"


# The kinds of faults of each place. The order is that of the report.
KINDS: dict[Place, tuple[Kind, ...]] = {
    Place.CODE: (Kind.FLIP, Kind.STUCK, Kind.SKIP, Kind.HANG, Kind.LIVELOCK),
    Place.CONSTANTS: (Kind.FLIP, Kind.STUCK),
    Place.DATA: (Kind.FLIP, Kind.STUCK),
    Place.HEAP: (Kind.FLIP, Kind.STUCK),
    Place.STACKS: (Kind.FLIP, Kind.STUCK),
    Place.TABLES: (Kind.FLIP, Kind.STUCK),
    Place.SAVED: (Kind.FLIP, Kind.STUCK),
    Place.REGISTERS: (Kind.FLIP,),
    Place.RINGS: (Kind.FLIP, Kind.STUCK, Kind.DMA, Kind.MALICIOUS),
    Place.CHANNEL: (Kind.FLIP, Kind.STUCK, Kind.MALICIOUS),
    Place.DEVICE: (Kind.FLIP, Kind.DMA),
    Place.CONFIGURATION: (Kind.FLIP,),
    Place.KEPT: (Kind.FLIP, Kind.STUCK),
}
CELLS = tuple((place, kind) for place, kinds in KINDS.items() for kind in kinds)


@dataclass(frozen=True)
class Fault:
    """A fault. `choice` seeds the choice of the address and of the bit, once they are known."""

    number: int
    system: str
    place: Place
    kind: Kind
    instant: int  # instructions that the victim has executed before
    choice: int

    @property
    def title(self) -> str:
        """The fault in a few words."""
        return f"fault {self.number}: {self.kind.value} in {self.place.value} of {self.system}"


def draw(number: int, seed: int, systems: Sequence[str], window: dict[str, range]) -> Fault:
    """Return a fault of a campaign. It does not depend on the number of faults.

    Faults take turns among the systems and the cells of the table, so that few faults reach all.
    `window`: by system, the instants.
    """
    system = systems[number % len(systems)]
    turn = number // len(systems)
    # Each round of turns has an order of its own.
    order = random.Random(f"{seed}/{turn // len(CELLS)}").sample(CELLS, len(CELLS))
    place, kind = order[turn % len(CELLS)]
    chosen = random.Random(f"{seed}/{system}/{number}")
    instants = window[system]
    instant = chosen.randrange(instants.start, instants.stop)
    return Fault(number, system, place, kind, instant, chosen.getrandbits(64))
