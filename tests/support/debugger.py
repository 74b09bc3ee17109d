# SPDX-License-Identifier: BSD-2-Clause
"""Stop a core at an instruction of the hypervisor, through QEMU's GDB stub, and move it."""

from __future__ import annotations

import re
from collections.abc import Callable

from support.physical_memory import PhysicalMemory

_PC, _CPSR = 0x20, 0x21  # numbers of QEMU's AArch64 registers (target feature org.gnu.gdb.aarch64)
_EL2 = 2
_INTERRUPT = b"\x03"  # GDB's manual, "Interrupts"


class Debugger(PhysicalMemory):
    """A connection to the stub. All cores stand still, except during run_to()."""

    def run_to(self, core: int, address: int, is_meant: Callable[[], bool] = lambda: True) -> None:
        """Lets the machine run until the core is about to execute the instruction, at EL2, and
        `is_meant` returns true.

        Other cores, and guests, that come to the same virtual address go on.
        """
        while True:
            assert self.request(f"Z0,{address:x},4") == "OK"
            self.send("c")
            stopped = self._stopped_core()
            assert self.request(f"z0,{address:x},4") == "OK"
            self.select(stopped)
            at_el2 = self.register(_CPSR) >> 2 & 3 == _EL2
            if stopped == core and at_el2 and is_meant():
                assert self.register(_PC) == address
                return
            self.step(stopped)

    def step(self, core: int) -> None:
        """Let a core that stands still execute an instruction, and no other core."""
        self.send(f"vCont;s:{core + 1:x}")
        self._stopped_core()

    def run_others(self, held: int, cores: int) -> None:
        """Lets all cores run but one. `cores`: number of all."""
        others = (f"c:{core + 1:x}" for core in range(cores) if core != held)
        self.send("vCont;" + ";".join(others))

    def halt(self) -> None:
        """Make the cores that run_others() lets run stand still again."""
        self._socket.sendall(_INTERRUPT)
        self.answer()

    def jump(self, address: int) -> None:
        """Make the core that run_to() stopped continue at another address."""
        self.set_register(_PC, address)

    def move(self, core: int, address: int) -> None:
        """Make a core that stands still in the hypervisor continue at another address."""
        self.select(core)
        assert self.register(_CPSR) >> 2 & 3 == _EL2
        self.jump(address)

    def _stopped_core(self) -> int:
        stop = self.answer()
        found = re.match(r"T05thread:(?:p\w+\.)?(\w+);", stop)
        assert found is not None, stop
        return int(found[1], 16) - 1
