# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Linux with a virtio socket, whose back-end is the program that VHOST_DEVICE_VSOCK names:
bytes of a program of this machine come back from a program of the guest.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.recipes import RECIPES, StartGuest, boot_recipe

from bulkhead.peers import linux_guest

_BYTES = 1 << 20


def _back_end_program() -> str:
    named = os.environ.get("VHOST_DEVICE_VSOCK") or shutil.which("vhost-device-vsock")
    if named is None:
        pytest.skip("VHOST_DEVICE_VSOCK names no program, and vhost-device-vsock is not in PATH")
    return named


@contextmanager
def _back_end(folder: Path) -> Iterator[None]:
    command = [_back_end_program(), "--guest-cid=3", "--socket=vhost.socket", "--uds-path=programs"]
    with subprocess.Popen(command, cwd=folder) as back_end:
        try:
            deadline = time.monotonic() + 10
            while not (folder / "vhost.socket").is_socket():
                assert back_end.poll() is None, "the back-end has ended"
                assert time.monotonic() < deadline, "the back-end makes no socket"
                time.sleep(0.05)
            yield
        finally:
            back_end.kill()


def _exchange(programs: Path, sent: bytes) -> bytes:
    """Send bytes to the guest's port while they are read. Return those that came back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(programs))
        connection.sendall(b"CONNECT 1234\n")
        with connection.makefile("rb") as stream:
            assert stream.readline().startswith(b"OK ")
            writer = threading.Thread(target=connection.sendall, args=(sent,))
            writer.start()
            received = stream.read(len(sent))
            writer.join()
            return received


@pytest.mark.long
@pytest.mark.timeout(400)
def test_linux_with_a_virtio_socket(start_guest: StartGuest, tmp_path: Path) -> None:
    image = linux_guest.with_modules(linux_guest.prepare(), ["vmw_vsock_virtio_transport"])
    image = linux_guest.with_program(image, "vsock-echo", [RECIPES / "vsock" / "echo.c"], [])
    shutil.copy(image.kernel, tmp_path / "vmlinuz")
    shutil.copy(image.initrd, tmp_path / "initrd.img")
    memory = tmp_path / "memory"
    memory.touch()
    with _back_end(tmp_path):
        guest = boot_recipe(start_guest, tmp_path, "Linux with a virtio socket", memory=memory)
        guest.wait_for("linux| vsock: listening on port 1234", timeout=200)
        sent = random.Random(1).randbytes(_BYTES)
        assert _exchange(tmp_path / "programs", sent) == sent
        assert _exchange(tmp_path / "programs", sent[::-1]) == sent[::-1]
