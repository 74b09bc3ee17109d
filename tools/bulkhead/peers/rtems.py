# SPDX-License-Identifier: BSD-2-Clause
"""Build programs on virtio/ports/rtems and channel/rtems, such as their samples.

The RTEMS is the user's; we do not install one. The variable RTEMS_PREFIX names its folder, as for
the port's makefile.
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
_CHANNEL_PORT = ROOT / "channel/rtems"
_DEFAULT_BUFFER = 65535

LWIP, LEGACY = "lwip", "bsd"  # names of the samples, by stack
# With its 32-bit pointers the legacy stack reaches PCI configuration space below 4 GiB only.
LEGACY_MACHINE = "virt,gic-version=3,highmem=off"


@dataclass(frozen=True)
class Rtems:
    """An installation: its folder, the tool-chain's folder, and the board support package."""

    prefix: Path
    tools: Path
    bsp: str


@dataclass(frozen=True)
class Sample:
    """A program: its stack, and the settings at compile time."""

    stack: str = LWIP
    tcp_buffer: int = _DEFAULT_BUFFER
    rx_buffers: int = 0  # exposed; 0: the driver adapts the number
    linker_scripts: Path | None = None  # a folder that is searched before the BSP's
    application: Path | None = None  # the C source of a program on lwIP; None: the stack's sample
    flags: tuple[str, ...] = ()  # compiler options for `application`

    @property
    def path(self) -> Path:
        """The path of the executable file. Each stack has its own BSP, so the BSP is not in it."""
        kind = f"-{self.linker_scripts.name}" if self.linker_scripts else ""
        if self.application:
            return BUILD / f"rtems-{self.application.stem}{kind}" / "application.exe"
        folder = BUILD / f"rtems-{self.stack}-{self.tcp_buffer}-{self.rx_buffers}{kind}"
        return folder / f"{self.stack}-sample.exe"


def find() -> Rtems | None:
    """Return the installation that the environment names, or None."""
    prefix = os.environ.get(PREFIX)
    if not prefix:
        return None
    folder = Path(prefix).expanduser().absolute()
    tools = Path(os.environ.get(_TOOLS) or folder).expanduser().absolute()
    return Rtems(folder, tools, os.environ.get(_BSP) or _DEFAULT_BSP)


def find_with_legacy_stack() -> Rtems | None:
    """Return the installation with the BSP of the legacy BSD stack, or None.

    That stack needs 32-bit pointers.
    """
    found = find()
    if found is None:
        return None
    name = _LEGACY_BSP.partition("/")[2]
    if not any(found.prefix.glob(f"*/{name}/lib/libnetworking.a")):
        return None
    return replace(found, bsp=_LEGACY_BSP)


def skips_idle_time(rtems: Rtems) -> bool:
    """Return True if the BSP's clock skips to the next timer when idle, as for RTEMS's own tests.

    Its time is then ahead of real time, and measured times are longer.
    """
    name = rtems.bsp.partition("/")[2]
    options = rtems.prefix.glob(f"*/{name}/lib/include/bspopts.h")
    return any("#define CLOCK_DRIVER_USE_FAST_IDLE 1" in path.read_text() for path in options)


def require(stack: str = LWIP) -> Rtems:
    """Return the installation for a stack; raises UserError if there is none."""
    found = find()
    if found is None:
        raise UserError(
            f"{PREFIX} names no folder, and this needs an installed RTEMS",
            f"set {PREFIX} (virtio/ports/rtems/README.md lists its content)",
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
    """Build a sample. Returns the executable file.

    The makefile reports what is missing in an installation.
    """
    return _make(
        rtems, _PORT, sample.path,
        f"LWIP_DIR={sources.locate(sources.LWIP)}", f"TCP_BUFFER={sample.tcp_buffer}",
        f"RX_BUFFERS={sample.rx_buffers}",
        *([f"LINK_FLAGS=-B{sample.linker_scripts}"] if sample.linker_scripts else []),
        *([f"APPLICATION={sample.application}"] if sample.application else []),
        *([f"APPLICATION_FLAGS={' '.join(sample.flags)}"] if sample.flags else []),
    )  # fmt: skip


def build_with_channels(rtems: Rtems, program: str | Path, *others: Path) -> Path:
    """Build a program on channel/rtems. Returns the executable file.

    `program` is the name of a sample, or the path of a C source. `others` are C sources that belong
    to it; it may include headers of their folders.
    """
    if isinstance(program, str):
        return _make(rtems, _CHANNEL_PORT, BUILD / "rtems-channel" / f"{program}.exe")
    path = BUILD / f"rtems-channel-{program.stem}" / "application.exe"
    flags = " ".join(f"-I{folder}" for folder in sorted({other.parent for other in others}))
    files = " ".join(str(file) for file in (program, *others))
    settings = (f"APPLICATION={files}", f"APPLICATION_FLAGS={flags}")
    return _make(rtems, _CHANNEL_PORT, path, *settings)


def _make(rtems: Rtems, port: Path, target: Path, *settings: str) -> Path:
    """Make a target with a port's makefile, and return it. Its folder is for the output."""
    folder = target.parent
    make = packages.program("make")
    if make is None:
        raise UserError("make is missing", "install the package make")
    command = [
        make, "-C", str(port), f"-j{os.cpu_count() or 1}", f"BUILD={folder}",
        f"RTEMS_PREFIX={rtems.prefix}", f"RTEMS_TOOLS={rtems.tools}", f"BSP={rtems.bsp}",
        *settings, str(target),
    ]  # fmt: skip
    with lock.held(folder), console.progress(f"building {display(folder)}"):
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise BuildFailure(f"{done.stdout}{done.stderr}")
    return target
