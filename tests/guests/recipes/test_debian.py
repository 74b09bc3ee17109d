# SPDX-License-Identifier: BSD-2-Clause
"""Debian on a disk, with systemd and ssh: no unit fails, the time is right, and it reboots."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from support.recipes import BUILDS, RECIPES, StartGuest, boot_recipe, call

from bulkhead import lock
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward
from bulkhead.setup import packages

_SSH = 22
_BOOT_S = 300
_FILES = ("disk.img", "vmlinuz", "initrd.img")
_OPTIONS = (
    "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
    "-o", "ConnectTimeout=60", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
)  # fmt: skip


def _installed() -> Path:
    """Return the folder of the disk, the kernel, and the key of ssh. It is made once.

    `DEBIAN_DISK` names a folder that has them already.
    """
    if "DEBIAN_DISK" in os.environ:
        return Path(os.environ["DEBIAN_DISK"]).expanduser().absolute()
    if os.geteuid() != 0:
        pytest.skip("needs root, to make a disk")
    for program in ("mmdebstrap", "qemu-aarch64-static", "mkfs.ext4", "ssh-keygen"):
        if packages.program(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = BUILDS / "debian"
    with lock.held(folder):
        if not all((folder / name).is_file() for name in (*_FILES, "key")):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], folder)
            script = RECIPES / "debian" / "disk.sh"
            call([script, folder, "bookworm", folder / "key.pub"], folder)
    return folder


class _Shell:
    """Commands by ssh."""

    def __init__(self, key: Path, port: int) -> None:
        self._command = ["ssh", *_OPTIONS, "-i", str(key), "-p", str(port), "root@127.0.0.1"]

    def run(self, command: str, *, may_end: bool = False) -> str:
        """Return the output. `may_end`: the command may end the connection."""
        done = subprocess.run(
            [*self._command, command], capture_output=True, text=True, check=False, timeout=120,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert may_end or done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def check_units(self) -> None:
        """systemd has started all units, and none failed."""
        # The exit status is not 0 in other states than "running".
        state = self.run("systemctl is-system-running --wait || systemctl --failed --no-legend")
        assert state == "running"


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_debian(start_guest: StartGuest, tmp_path: Path) -> None:
    made = _installed()
    for name in _FILES:
        shutil.copy(made / name, tmp_path)
    (port,) = free_ports(1)
    shell = _Shell(made / "key", port)
    guest = boot_recipe(start_guest, tmp_path, "Debian", forwards=[Forward(_SSH, port)])
    guest.wait_for("debian ttyAMA0", timeout=_BOOT_S)
    shell.check_units()
    assert abs(int(shell.run("date +%s")) - time.time()) < 3600
    assert shell.run("nproc") == "2"
    shell.run("echo kept > /root/note; sync")
    first = shell.run("cat /proc/sys/kernel/random/boot_id")
    shell.run("systemctl reboot", may_end=True)
    guest.wait_for_next_match("reboot: Restarting system", 120)
    guest.wait_for_next_match("debian ttyAMA0", _BOOT_S)
    shell.check_units()
    assert shell.run("cat /root/note") == "kept"
    assert shell.run("cat /proc/sys/kernel/random/boot_id") != first
