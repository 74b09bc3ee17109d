# SPDX-License-Identifier: BSD-2-Clause
"""Write a machine's physical memory and device registers through QEMU's GDB stub.

The machine is halted while a connection exists.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_TIMEOUT_S = 60


def arguments(path: Path) -> tuple[str, str]:
    """Return QEMU's arguments for a stub at a Unix socket."""
    return ("-gdb", f"unix:{path},server=on,wait=off")


class PhysicalMemory:
    """A connection to the stub: the remote serial protocol of GDB's manual, appendix E."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_TIMEOUT_S)
        end = time.monotonic() + _TIMEOUT_S
        # QEMU creates the socket, and listens, before the machine runs.
        while self._socket.connect_ex(str(path)) != 0:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert self.request("Qqemu.PhyMemMode:1") == "OK"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.request("D")
        self._socket.close()

    def read(self, address: int, size: int) -> bytes:
        """Read bytes at a physical address."""
        return bytes.fromhex(self.request(f"m{address:x},{size:x}"))

    def write(self, address: int, data: bytes) -> None:
        """Write bytes to a physical address, in one access if the size is that of a register."""
        assert self.request(f"M{address:x},{len(data):x}:{data.hex()}") == "OK"

    def request(self, text: str) -> str:
        """Send a packet. Return the answer."""
        self.send(text)
        return self.answer()

    def send(self, text: str) -> None:
        """Send a packet whose answer is read later."""
        self._socket.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())

    def answer(self) -> str:
        """Return the next answer."""
        answer = b""
        while b"#" not in answer[:-2]:
            answer += self._socket.recv(65536)
        self._socket.sendall(b"+")
        return answer[answer.index(b"$") + 1 : answer.rindex(b"#")].decode()
