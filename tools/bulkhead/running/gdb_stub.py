# SPDX-License-Identifier: BSD-2-Clause
"""Speak the remote serial protocol of GDB's manual, appendix E, with QEMU's stub.

The machine is halted while a connection exists. Addresses of memory are physical.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from bulkhead.running.qemu import escape

_TIMEOUT_S = 60
_CHUNK = 0x800  # bytes of a description of registers in one answer


class GdbStubError(Exception):
    """The stub refused a request, or does not answer."""


def arguments(path: Path) -> tuple[str, str]:
    """Return QEMU's arguments for a stub at a Unix socket."""
    return ("-gdb", f"unix:{escape(path)},server=on,wait=off")


class GdbStub:
    """A connection to the stub; a context manager. Its end lets the machine go on."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_TIMEOUT_S)
        end = time.monotonic() + _TIMEOUT_S
        # QEMU creates the socket, and listens, before the machine runs.
        while self._socket.connect_ex(str(path)) != 0:
            if time.monotonic() > end:
                raise GdbStubError(f"QEMU does not listen at {path}")
            time.sleep(0.01)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.request("D")
        finally:
            self._socket.close()

    def use_physical_memory(self) -> None:
        """Make all addresses physical. It waits until the machine is halted."""
        self._order("Qqemu.PhyMemMode:1")

    def read(self, address: int, size: int) -> bytes:
        """Read bytes at a physical address."""
        answer = self.request(f"m{address:x},{size:x}")
        if len(answer) != 2 * size:
            raise GdbStubError(f"QEMU does not read {size} bytes at {address:#x}: {answer}")
        return bytes.fromhex(answer)

    def write(self, address: int, data: bytes) -> None:
        """Write bytes to a physical address, in one access if the size is that of a register."""
        self._order(f"M{address:x},{len(data):x}:{data.hex()}")

    def select(self, core: int) -> None:
        """Choose the core whose registers are meant."""
        self._order(f"Hg{core + 1:x}")

    def register(self, number: int) -> int:
        """Return a register of the chosen core."""
        return int.from_bytes(bytes.fromhex(self.request(f"p{number:x}")), "little")

    def set_register(self, number: int, value: int, size: int = 8) -> None:
        """Write a register of the chosen core, of `size` bytes."""
        self._order(f"P{number:x}={value.to_bytes(size, 'little').hex()}")

    def system_registers(self) -> dict[str, int]:
        """Return the numbers of the system registers, by name."""
        text = "".join(self._description("system-registers.xml"))
        found = re.findall(r'<reg name="(\w+)"[^>]*regnum="(\d+)"', text)
        return {name: int(number) for name, number in found}

    def _description(self, name: str) -> Iterator[str]:
        at, more = 0, True
        while more:
            answer = self.request(f"qXfer:features:read:{name}:{at:x},{_CHUNK:x}")
            if answer[:1] not in ("m", "l"):
                raise GdbStubError(f"QEMU does not describe {name}: {answer}")
            more = answer.startswith("m")
            at += len(answer) - 1
            yield answer[1:]

    def request(self, text: str) -> str:
        """Send a packet. Return the answer."""
        self.send(text)
        return self.answer()

    def send(self, text: str) -> None:
        """Send a packet whose answer is read later."""
        try:
            self._socket.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())
        except OSError as error:
            raise GdbStubError(f"QEMU does not accept {text}: {error}") from None

    def answer(self) -> str:
        """Return the next answer."""
        answer = b""
        while b"#" not in answer[:-2]:
            try:
                received = self._socket.recv(65536)
            except OSError as error:
                raise GdbStubError(f"QEMU does not answer: {error}") from None
            if not received:
                raise GdbStubError("QEMU closed the connection")
            answer += received
        self._socket.sendall(b"+")
        return answer[answer.index(b"$") + 1 : answer.rindex(b"#")].decode()

    def _order(self, text: str) -> None:
        answer = self.request(text)
        if answer != "OK":
            raise GdbStubError(f"QEMU refuses {text}: {answer}")
