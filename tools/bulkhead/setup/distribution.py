# SPDX-License-Identifier: BSD-2-Clause
"""Which Linux distribution this machine runs, and what differs between those we install on."""

import platform
from dataclasses import dataclass
from functools import cache

# Machines' names as the archives spell them.
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# Where a source archive is looked for when the machine's own suite lacks it.
LATER_SUITES = {"debian": ("trixie", "sid")}

# Suites with a QEMU that is too old have a new enough one in their backports.
QEMU_FROM_BACKPORTS = {"bookworm"}


@dataclass(frozen=True)
class Distribution:
    """From /etc/os-release."""

    identity: str
    codename: str

    @property
    def is_known(self) -> bool:
        """Whether package names and archives are known to Bulkhead."""
        return self.identity in ("debian", "ubuntu") and bool(self.codename)

    @property
    def kernel_package(self) -> str:
        """The package that pulls in the current arm64 Linux kernel."""
        return "linux-image-generic" if self.identity == "ubuntu" else "linux-image-arm64"


def from_os_release(fields: dict[str, str]) -> Distribution:
    """The distribution that /etc/os-release's fields describe."""
    return Distribution(fields.get("ID", ""), fields.get("VERSION_CODENAME", ""))


@cache
def current() -> Distribution:
    """This machine's."""
    try:
        return from_os_release(platform.freedesktop_os_release())
    except OSError:
        return Distribution("", "")


def architecture() -> str:
    """This machine's architecture as Debian spells it."""
    return DEBIAN_ARCHITECTURES.get(platform.machine(), platform.machine())
