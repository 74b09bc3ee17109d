# SPDX-License-Identifier: BSD-2-Clause
"""A flood of UDP frames into a guest's network card."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from bulkhead.running.qemu import MAC, DatagramNetwork

ADDRESS = "10.0.2.15"  # of the guest
FRAME_BYTES = 64


def udp_frame(number: int) -> bytes:
    """Return a frame to a closed port of the guest, which has to process each and answers some."""
    frame = bytes(
        Ether(dst=MAC, src="52:55:00:00:00:02")
        / IP(src="10.0.2.2", dst=ADDRESS, id=0, flags="DF")
        / UDP(sport=5000, dport=5000, chksum=0)
        / number.to_bytes(4, "big")
    )
    return frame.ljust(FRAME_BYTES, b"\0")


class Flood:
    """Sends frames to a guest's datagram socket as fast as it takes them."""

    def __init__(self, folder: Path) -> None:
        self.network = DatagramNetwork(folder / "guest", folder / "host")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.network.remote))
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._send, self._drain)]

    def start(self) -> None:
        """Start sending to the running guest."""
        self._socket.connect(str(self.network.local))
        self._socket.settimeout(0.2)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop sending."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._socket.close()

    def _send(self) -> None:
        frames = [udp_frame(number) for number in range(256)]
        number = 0
        while not self._stop.is_set():
            with contextlib.suppress(OSError):
                self._socket.send(frames[number % 256])
            number += 1

    def _drain(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(OSError):
                self._socket.recv(2048)
