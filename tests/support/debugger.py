# SPDX-License-Identifier: BSD-2-Clause
"""Stop a core at an instruction of the hypervisor, through QEMU's GDB stub, and move it."""

from __future__ import annotations

import re
from collections.abc import Callable

from support.physical_memory import PhysicalMemory

_PC, _CPSR = 0x20, 0x21  # numbers of QEMU's AArch64 registers (target feature org.gnu.gdb.aarch64)
_EL2 = 2


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
            self._select(stopped)
            at_el2 = self.register(_CPSR) >> 2 & 3 == _EL2
            if stopped == core and at_el2 and is_meant():
                assert self.register(_PC) == address
                return
            self.send(f"vCont;s:{stopped + 1:x}")
            self._stopped_core()

    def jump(self, address: int) -> None:
        """Make the core that run_to() stopped continue at another address."""
        self.set_register(_PC, address)

    def set_register(self, number: int, value: int) -> None:
        """Write a register of the core that run_to() stopped."""
        assert self.request(f"P{number:x}={value.to_bytes(8, 'little').hex()}") == "OK"

    def move(self, core: int, address: int) -> None:
        """Make a core that stands still in the hypervisor continue at another address."""
        self._select(core)
        assert self.register(_CPSR) >> 2 & 3 == _EL2
        self.jump(address)

    def _stopped_core(self) -> int:
        stop = self.answer()
        found = re.match(r"T05thread:(?:p\w+\.)?(\w+);", stop)
        assert found is not None, stop
        return int(found[1], 16) - 1

    def _select(self, core: int) -> None:
        assert self.request(f"Hg{core + 1:x}") == "OK"

    def register(self, number: int) -> int:
        """Return a register of the core that stands still."""
        return int.from_bytes(bytes.fromhex(self.request(f"p{number:x}")), "little")
