# SPDX-License-Identifier: BSD-2-Clause
"""The samples of virtio/ports/rtems, built with an RTEMS that the user has installed.

We neither bring nor build RTEMS: the variable RTEMS_PREFIX says where it is, as it does for the
port's makefile.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead import console, lock
from bulkhead.building import sources
from bulkhead.building.build import BuildFailure
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, ROOT, display
from bulkhead.setup import packages

PREFIX = "RTEMS_PREFIX"
_TOOLS = "RTEMS_TOOLS"
_BSP = "RTEMS_BSP"
_DEFAULT_BSP = "aarch64/a53_lp64_qemu"
_LEGACY_BSP = "aarch64/a53_ilp32_qemu"
_PORT = ROOT / "virtio/ports/rtems"
_DEFAULT_BUFFER = 65535

LWIP, LEGACY = "lwip", "bsd"  # the samples, by their stack
# The legacy stack's pointers of 32 bits reach configuration space of PCI below 4 GiB only.
LEGACY_MACHINE = "virt,gic-version=3,highmem=off"


@dataclass(frozen=True)
class Rtems:
    """An installation: its folder, its tool-chain's, and the board support package to use."""

    prefix: Path
    tools: Path
    bsp: str


@dataclass(frozen=True)
class Sample:
    """A sample program: the stack it is on, and what is fixed when it is compiled."""

    stack: str = LWIP
    tcp_buffer: int = _DEFAULT_BUFFER
    rx_buffers: int = 0  # exposed; 0: as the device needs them
    linker_scripts: Path | None = None  # a folder of some that come before the BSP's

    @property
    def path(self) -> Path:
        """The executable file, once it is built (with one BSP only: each stack has its own)."""
        kind = f"-{self.linker_scripts.name}" if self.linker_scripts else ""
        folder = BUILD / f"rtems-{self.stack}-{self.tcp_buffer}-{self.rx_buffers}{kind}"
        return folder / f"{self.stack}-sample.exe"


def find() -> Rtems | None:
    """The installation that the environment names; None if it names none."""
    prefix = os.environ.get(PREFIX)
    if not prefix:
        return None
    folder = Path(prefix).expanduser().absolute()
    tools = Path(os.environ.get(_TOOLS) or folder).expanduser().absolute()
    return Rtems(folder, tools, os.environ.get(_BSP) or _DEFAULT_BSP)


def find_with_legacy_stack() -> Rtems | None:
    """The installation, with a BSP that has the legacy BSD stack: it needs pointers of 32 bits."""
    found = find()
    if found is None:
        return None
    name = _LEGACY_BSP.partition("/")[2]
    if not any(found.prefix.glob(f"*/{name}/lib/libnetworking.a")):
        return None
    return replace(found, bsp=_LEGACY_BSP)


def skips_idle_time(rtems: Rtems) -> bool:
    """Whether the BSP's clock skips to the next timer when it idles, as RTEMS's own tests want it.

    Its time then runs ahead of the world's: what is measured with it is worse.
    """
    name = rtems.bsp.partition("/")[2]
    options = rtems.prefix.glob(f"*/{name}/lib/include/bspopts.h")
    return any("#define CLOCK_DRIVER_USE_FAST_IDLE 1" in path.read_text() for path in options)


def require(stack: str = LWIP) -> Rtems:
    """The same, where it cannot be done without."""
    found = find()
    if found is None:
        raise UserError(
            f"{PREFIX} names no folder, and this needs an installed RTEMS",
            f"set {PREFIX} (virtio/ports/rtems/README.md says what it has to hold)",
        )
    if stack == LEGACY:
        found = find_with_legacy_stack()
    if found is None:
        raise UserError(
            f"there is no RTEMS with the legacy stack in {PREFIX}",
            f"install the BSP {_LEGACY_BSP} and rtems-net-legacy there",
        )
    return found


def build(rtems: Rtems, sample: Sample) -> Path:
    """Make a sample; the executable file. The makefile says itself what an installation lacks."""
    folder = sample.path.parent
    make = packages.program("make")
    if make is None:
        raise UserError("make is missing", "install the package make")
    command = [
        make, "-C", str(_PORT), f"-j{os.cpu_count() or 1}", f"BUILD={folder}",
        f"RTEMS_PREFIX={rtems.prefix}", f"RTEMS_TOOLS={rtems.tools}", f"BSP={rtems.bsp}",
        f"LWIP_DIR={sources.locate(sources.LWIP)}", f"TCP_BUFFER={sample.tcp_buffer}",
        f"RX_BUFFERS={sample.rx_buffers}", str(sample.path),
        *([f"LINK_FLAGS=-B{sample.linker_scripts}"] if sample.linker_scripts else []),
    ]  # fmt: skip
    with lock.held(folder), console.progress(f"building {display(folder)}"):
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise BuildFailure(f"{done.stdout}{done.stderr}")
    return sample.path
