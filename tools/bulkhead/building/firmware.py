# SPDX-License-Identifier: BSD-2-Clause
"""Build TF-A, the firmware of EL3, for QEMU's machine `virt`: from Debian's source package.

Fetch OP-TEE, which it can start in the Secure state, from Debian's package.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from bulkhead import console, lock
from bulkhead.building import sources
from bulkhead.building.build import BuildFailure, environment
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, display
from bulkhead.peers import arm64_packages
from bulkhead.setup import distribution, packages

_OLDEST = (2, 12)
_FIP_OFFSET = 256 << 10  # in the flash: plat/qemu/qemu/include/platform_def.h, PLAT_QEMU_FIP_BASE
_STAMP = "arguments.json"
# GCC 12 and later take an access to an address below 4 KiB for one beyond a null pointer.
_FLAGS = "--param=min-pagesize=0"


def _lack(tree: Path) -> str | None:
    text = (tree / "Makefile").read_text(errors="replace")
    parts = [re.search(rf"^VERSION_{part}\s*:=\s*(\d+)", text, re.M) for part in ("MAJOR", "MINOR")]
    numbers = tuple(int(part[1]) for part in parts if part)
    if numbers < _OLDEST:
        held, oldest = (".".join(map(str, each)) for each in (numbers, _OLDEST))
        return f"it is TF-A {held or 'of no version'}, and {oldest} or newer is needed"
    return None


TFA = sources.SourceTree(
    "arm-trusted-firmware", "TFA_DIR", "plat/qemu/qemu/platform.mk", _lack, oldest=_OLDEST
)


@dataclass(frozen=True)
class Firmware:
    """A build of TF-A.

    It starts `loader`, such as U-Boot, or what lies at `start` in memory. `trusted`: the folder of
    an OP-TEE for this machine, which it starts before. `entropy`: the source of plat_get_entropy(),
    which TF-A lacks for this machine; then it has the calls for random numbers (Arm DEN0098).
    """

    start: int = 0
    loader: Path | None = None
    trusted: Path | None = None
    entropy: Path | None = None
    debug: bool = False  # with TF-A's assertions

    @property
    def folder(self) -> Path:
        """The folder of the build."""
        parts = ["tfa", "debug" if self.debug else "release"]
        parts += [self.loader.parent.name] if self.loader else [f"{self.start:x}"]
        parts += ["optee"] if self.trusted else []
        parts += ["trng"] if self.entropy else []
        return BUILD / "firmware" / "-".join(parts)

    def arguments(self) -> list[str]:
        """Return the variables of TF-A's makefile."""
        given = {
            "PLAT": "qemu",
            "CROSS_COMPILE": "aarch64-linux-gnu-",
            "QEMU_USE_GIC_DRIVER": "QEMU_GICV3",
            "CFLAGS": _FLAGS,
            "DEBUG": str(int(self.debug)),
            "BUILD_BASE": str(self.folder),
            "BUILD_STRING": "bulkhead",  # in TF-A's messages, instead of the commit of this tree
        }
        if self.loader:
            given["BL33"] = str(self.loader)
        else:
            given["PRELOADED_BL33_BASE"] = f"{self.start:#x}"
        if self.trusted:
            given |= {
                "SPD": "opteed",
                "BL32": str(self.trusted / "tee-header_v2.bin"),
                "BL32_EXTRA1": str(self.trusted / "tee-pager_v2.bin"),
                "BL32_EXTRA2": str(self.trusted / "tee-pageable_v2.bin"),
                "BL32_RAM_LOCATION": "tdram",
            }
        if self.entropy:
            given["TRNG_SUPPORT"] = "1"
        return [f"{name}={value}" for name, value in given.items()]

    def write_more_sources(self) -> list[str]:
        """Return make's options that add the source of entropy to those of EL3."""
        if self.entropy is None:
            return []
        rules = self.folder / "entropy.mk"
        rules.write_text(f"BL31_SOURCES += {self.entropy}\n")
        return ["-f", str(rules), "-f", "Makefile"]


def build(firmware: Firmware) -> Path:
    """Build the firmware, unless it is built already. Returns the content of the flash.

    The packages of the groups `guest` and `firmware` must be installed.
    """
    flash, stamp = firmware.folder / "flash.bin", firmware.folder / _STAMP
    # All builds make the packing tool, in the source tree, which the first one fetches.
    with lock.held(BUILD / "firmware" / "tfa"):
        tree = sources.locate(TFA)
        command = ["make", "-C", str(tree), f"-j{os.cpu_count() or 1}", *firmware.arguments()]
        given = [each for each in (firmware.loader, firmware.entropy) if each]
        wanted = json.dumps([*command, *(each.stat().st_mtime_ns for each in given)])
        if flash.is_file() and stamp.is_file() and stamp.read_text() == wanted:
            return flash
        shutil.rmtree(firmware.folder, ignore_errors=True)
        firmware.folder.mkdir(parents=True)
        _make([*command, *firmware.write_more_sources(), "all", "fip"])
        made = firmware.folder / "qemu" / ("debug" if firmware.debug else "release")
        first = (made / "bl1.bin").read_bytes()
        flash.write_bytes(first.ljust(_FIP_OFFSET, b"\0") + (made / "fip.bin").read_bytes())
        stamp.write_text(wanted)
    return flash


def optee() -> Path:
    """Return the folder of OP-TEE's images, which are fetched once.

    The packages of the group `bench` must be installed.
    """
    suite = distribution.OPTEE_FROM_SUITE.get(distribution.current().codename)
    wanted = [arm64_packages.Wanted("optee-os", r"^optee-os_")]
    with lock.held(BUILD / "firmware" / "optee"):
        root = arm64_packages.unpack(BUILD / "firmware" / "optee", "OP-TEE", wanted, suite)
    found = sorted(root.glob("**/vexpress-qemu_armv8a/tee-header_v2.bin"))
    if not found:
        raise UserError("Debian's optee-os has no image for QEMU", f"look into {display(root)}")
    return found[0].parent


def _make(command: list[str]) -> None:
    if packages.program("make") is None:
        raise UserError("make is missing", "call ./bulkhead setup firmware")
    with console.progress("building TF-A") as update:
        status, output = console.run_shown(command, update, environment=environment())
    if status != 0:
        raise BuildFailure(output)
