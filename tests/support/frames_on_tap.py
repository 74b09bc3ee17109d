# SPDX-License-Identifier: BSD-2-Clause
"""Send arbitrary frames to a guest on a tap, past the host's own stack."""

from __future__ import annotations

import errno
import json
import socket
import time
from collections.abc import Iterable

from bulkhead.running.network import Namespace, Tap, in_namespace
from support.bad_frames import ETHERNET_MAX

BURST = 1000


def send_all(tap: Tap, namespace: Namespace, frames: Iterable[bytes]) -> int:
    """Write frames to the tap as fast as the guest takes them. Return the number of frames
    that Ethernet allows."""

    def open_raw() -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind((tap.interface, 0))
        return raw

    fitting = 0
    sent = 0
    before = frames_read(tap, namespace)
    with in_namespace(namespace.name, open_raw) as raw:
        for sent, frame in enumerate(frames, 1):
            while True:
                try:
                    raw.send(frame)
                    break
                except OSError as error:
                    if error.errno != errno.ENOBUFS:
                        raise
                    time.sleep(0.001)
            fitting += len(frame) <= ETHERNET_MAX
            if sent % BURST == 0:
                wait_for_frames(tap, namespace, before + sent)
        wait_for_frames(tap, namespace, before + sent)
    return fitting


def frames_read(tap: Tap, namespace: Namespace) -> int:
    """Return the number of frames that QEMU has read from the tap. QEMU reads while the guest
    has room."""
    listing = namespace.run(["ip", "-j", "-s", "link", "show", tap.interface]).stdout
    return int(json.loads(listing)[0]["stats64"]["tx"]["packets"])


def wait_for_frames(tap: Tap, namespace: Namespace, count: int) -> None:
    deadline = time.monotonic() + 60
    while (seen := frames_read(tap, namespace)) < count:
        assert time.monotonic() < deadline, f"{seen} of {count} frames arrived"
