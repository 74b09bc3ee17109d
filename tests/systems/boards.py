# SPDX-License-Identifier: BSD-2-Clause
"""Small boards for the checker's tests, with every special case in them."""

from __future__ import annotations

from dataclasses import replace

from bulkhead.errors import UserError
from bulkhead.system.board import AccessCounter, Board, Device
from bulkhead.system.cache import Cache, NoColours

_DEVICES = (
    Device("rtc", (34,), ((0x9010000, 0x1000),)),
    Device("gpio", (39,), ((0x9030000, 0x1000),)),
    Device("timer0", (42,), ((0x9100000, 0x1000),)),
    Device("timer1", (42,), ((0x9110000, 0x1000),)),
    # The watchdog shares the interrupt of PCI's slots 1, 5, 9; the modem that of the hypervisor's
    # terminal.
    Device("watchdog", (36,), ((0x9120000, 0x1000),)),
    Device("modem", (33,), ((0x9130000, 0x1000),)),
    Device("adc0", (43,), ((0x9140000, 0x200),)),
    Device("adc1", (44,), ((0x9140200, 0x200),)),
    Device("dma", (45,), ((0x9150000, 0x1000),), is_master=True),
    Device("switch", (), ()),
    Device("flash", (), ((0x0, 0x1000), (0x4000000, 0x1000))),
    *(Device(f"sensor{n}", (64 + n,), ((0x9200000 + n * 0x1000, 0x1000),)) for n in range(15)),
)
SMALL = Board(
    name="small",
    core_count=4,
    memory=0x40000000,
    memory_bytes=1 << 30,
    hypervisor_bytes=32 << 20,
    has_smmu=True,
    pci_buses=1,
    pci_interrupts=(35, 36, 37, 38),
    devices={device.label: device for device in _DEVICES},
    reserved={
        "gic": "every partition has its part of the interrupt controller",
        "uart": "the hypervisor's terminal",
        "smmu": "the hypervisor confines devices with it",
        "pcie": "PCI functions are given by their address",
    },
    own_interrupts={33: "the hypervisor's terminal"},
    kept_memory=(),
    counter_hz=62_500_000,
    instructions_per_us=1000,
    isolates_branches=True,
    security_states=1,
    further_memory=(),
    unusable_cores={},
    cache=Cache(bytes=1 << 20, sets=1024, line=64),
    accesses=AccessCounter(event=0x19, counters=1, bytes=64),
)
_BOARDS = {
    board.name: board
    for board in (
        SMALL,
        replace(SMALL, name="single", core_count=1, has_smmu=False),
        replace(SMALL, name="large", core_count=32),
        replace(SMALL, name="no-pci", pci_buses=0, pci_interrupts=()),
        replace(
            SMALL,
            name="kept",
            own_interrupts={64: "the firmware keeps it (boards/kept/board.toml)"},
            kept_memory=((0x50000000, 512 << 20),),
        ),
        replace(SMALL, name="many-colours", cache=Cache(bytes=4 << 20, sets=4096, line=64)),
        replace(SMALL, name="hashed", cache=NoColours("its cache is hashed", "leave cache out")),
        replace(SMALL, name="uncounted", accesses=None),
        replace(SMALL, name="unsized", accesses=AccessCounter(0x08, 2, 0)),
        replace(SMALL, name="two-states", security_states=2),
    )
}


def load(name: str) -> Board:
    if name not in _BOARDS:
        raise UserError(f"there is no board '{name}'", f"the boards are: {', '.join(_BOARDS)}")
    return _BOARDS[name]
