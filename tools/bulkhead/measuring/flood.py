# SPDX-License-Identifier: BSD-2-Clause
"""Send a flood of frames into a guest's network card."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import socket
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bulkhead.running.qemu import DatagramNetwork

_TIMEOUT_S = 0.2
_FRAME_MAX = 65536


class Flood:
    """Sends frames to a guest's datagram socket as fast as it takes them; a context manager.

    The frames that the guest sends are read and dropped.
    """

    def __init__(self, frames: Sequence[bytes]) -> None:
        # The path of a socket has a maximum length, which a path in build/ may exceed.
        self._folder = Path(tempfile.mkdtemp(prefix="bulkhead-"))
        self.network = DatagramNetwork(self._folder / "guest", self._folder / "host")
        self._frames = frames
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.network.remote))
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._send, self._drain)]

    def start(self) -> None:
        """Start sending to the running guest."""
        self._socket.connect(str(self.network.local))
        self._socket.settimeout(_TIMEOUT_S)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop sending."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _send(self) -> None:
        for frame in itertools.cycle(self._frames):
            if self._stop.is_set():
                return
            with contextlib.suppress(OSError):
                self._socket.send(frame)

    def _drain(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(OSError):
                self._socket.recv(_FRAME_MAX)
