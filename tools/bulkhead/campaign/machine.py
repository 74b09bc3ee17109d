# SPDX-License-Identifier: BSD-2-Clause
"""A machine of the campaign: it can be held at an instruction, and halted there for a fault."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bulkhead.campaign.control import Control
from bulkhead.campaign.standstill import Standstill
from bulkhead.errors import UserError
from bulkhead.running import machine_memory
from bulkhead.running.gdb_stub import GdbStub, arguments
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import Machine, UserNetwork, escape
from bulkhead.system.assemble import Assembled
from bulkhead.system.board_tree import registers
from bulkhead.system.layout import Layout, Place
from bulkhead.system.machine import machine, repeatable
from bulkhead.system.ranges import Range

VICTIM = 0  # number of the partition
_HELD_S = 120.0  # of this machine's time; a run takes less than a second of it if it is idle
_HALT_S = 60.0
_MEMORY = "bulkhead-campaign"
# Numbers of system calls on x86-64 and arm64: futex(), and ppoll().
_FUTEX, _POLL = ("202", "98"), ("271", "73")
_POLL_S = 0.0002
_FILE_BYTES = 400  # of the file that the victim reads over the network
_DATA_REGISTER = 0  # UARTDR of the PL011


def _network(folder: Path) -> UserNetwork:
    """Return a network with a TFTP server and nothing else, which answers without the host."""
    return UserNetwork(further={"restrict": "on", "ipv6": "off", "tftp": str(folder)})


@dataclass(frozen=True)
class Bench:
    """What all machines of a system have in common."""

    assembled: Assembled
    plugin: Path
    folder: Path  # of the TFTP server

    @property
    def layout(self) -> Layout:
        """The places of the system."""
        return self.assembled.layout

    @property
    def victim(self) -> Place:
        """The victim's place."""
        return self.layout.places[VICTIM]


def make_served_folder(folder: Path) -> None:
    """Write the file that the victim reads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data").write_bytes(bytes(number * 7 & 0xFF for number in range(_FILE_BYTES)))


def _system_call(path: Path) -> str:
    """Return the number of the system call that a thread sleeps in, or "running"."""
    try:
        return path.read_text().split()[0]
    except PermissionError:
        raise UserError(
            f"{path} can't be read", "permit it: sysctl kernel.yama.ptrace_scope=1, or call as root"
        ) from None
    except OSError as error:
        raise GuestError(f"QEMU has ended: {error}") from None


class CampaignMachine:
    """A machine; a context manager. Its time is the number of executed instructions."""

    def __init__(self, bench: Bench, console: Path) -> None:
        self._bench = bench
        layout = bench.layout
        self._size = layout.board.total_bytes
        self._base = layout.board.memory
        self._memory_file = machine_memory.make(_MEMORY, self._size)
        self.control = Control()
        self._folder = tempfile.TemporaryDirectory(prefix="bulkhead-")
        self._stub = Path(self._folder.name) / "gdb"
        self.guest = GuestProcess(self._machine(), console)

    def _machine(self) -> Machine:
        layout, victim = self._bench.layout, self._bench.victim
        memory = machine_memory.path_of(self._memory_file)
        terminal = registers(layout.board.roles["console"])[0][0] + _DATA_REGISTER
        plugin = (
            f"{escape(self._bench.plugin)},control={machine_memory.path_of(self.control.descriptor)}"
            f",memory={_MEMORY},base={self._base:#x},terminal={terminal:#x}"
            f",victim={victim.physical:#x},bytes={victim.memory.bytes:#x}"
            f",monitor={layout.hypervisor.start:#x},monitor_bytes={layout.hypervisor.bytes:#x}"
        )
        extra = (
            *machine_memory.options(memory, self._size),
            *arguments(self._stub),
            "-plugin",
            plugin,
        )
        made = machine(
            layout.system,
            layout.board,
            self._bench.assembled.image,
            lambda _: _network(self._bench.folder),
            extra,
        )
        return repeatable(made)

    def __enter__(self) -> Self:
        self.guest.start()
        self._memory = mmap.mmap(self._memory_file, self._size)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.guest.kill()  # a machine that is held does not react to a signal
        self.guest.stop()
        self._memory.close()
        os.close(self._memory_file)
        self.control.close()
        self._folder.cleanup()

    def run_to(self, now: int) -> bool:
        """Let the machine go on to a time, and hold it there. Returns False if it does not come."""
        self.control.hold_at(now)
        self.control.release()
        return self.wait()

    def run_to_victims(self, count: int) -> bool:
        """Let it go on until the victim has executed so many instructions. Returns as run_to()."""
        self.control.hold_at_victim(count)
        self.control.release()
        return self.wait()

    def wait(self) -> bool:
        """Wait until the machine is held. Returns False if it does not come there."""
        standstill = Standstill(self.guest, self.control)

        def check() -> None:
            if self.guest.process.poll() is not None:
                raise GuestError("the machine has ended")
            standstill.check()

        return self.control.wait_until_held(_HELD_S, check)

    @contextlib.contextmanager
    def halted(self) -> Iterator[GdbStub]:
        """Halt the machine, which is held: registers can be accessed. Afterwards it is held again,
        before the next block of code.
        """
        self.control.hold_at(self.control.now + 1)
        with GdbStub(self._stub) as stub:
            self._wait_for_halt()
            self.control.release()
            stub.use_physical_memory()
            yield stub
        self.wait()

    def _wait_for_halt(self) -> None:
        """Wait until QEMU's main thread waits for the processor that is held.

        Then the request to halt has reached the processor, and takes effect after the block that it
        executes: at the same instruction in each run.
        """
        self._wait_for_main_thread(_FUTEX)

    def _wait_for_main_thread(self, calls: tuple[str, ...]) -> None:
        """Wait until QEMU's main thread sleeps in one of these system calls."""
        process = self.guest.process.pid
        path = Path(f"/proc/{process}/task/{process}/syscall")
        end = time.monotonic() + _HALT_S
        seen = 0
        while seen < 2:
            seen = seen + 1 if _system_call(path) in calls else 0
            if time.monotonic() > end:
                raise GuestError("QEMU does not answer")
            time.sleep(_POLL_S)

    def type_keys(self, text: str) -> None:
        """Type on the terminal, while the machine is held. The interrupt is pending afterwards."""
        self.guest.type_text(text)
        end = time.monotonic() + _HALT_S
        while self.guest.untaken_keys() > 0 and time.monotonic() < end:
            time.sleep(_POLL_S)
        self._wait_for_main_thread(_POLL)

    def write(self, address: int, data: bytes) -> None:
        """Write to memory, while the machine is held. Not for code, which QEMU has translated."""
        offset = address - self._base
        self._memory[offset : offset + len(data)] = data

    def memory(self, where: Range) -> bytes:
        """Return physical memory."""
        offset = where.start - self._base
        return self._memory[offset : offset + where.bytes]
