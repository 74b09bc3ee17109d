# SPDX-License-Identifier: BSD-2-Clause
"""Find the Linux distribution of this machine, and the differences between supported ones."""

import platform
from dataclasses import dataclass
from functools import cache

# Debian's names of architectures, by the kernel's names.
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# Suites to try for a source package that the machine's own suite lacks.
LATER_SUITES = {"debian": ("trixie", "sid")}

# Suites whose arm64 kernel lacks CONFIG_ZONE_DEVICE, which DAX needs; and one whose kernel has it.
KERNELS_WITH_DAX = {"bookworm": "trixie"}

# Suites without the arm64 package optee-os, and one that has it.
OPTEE_FROM_SUITE = {"bookworm": "trixie"}

# The QEMU of these suites is too old; their backports have a newer one.
QEMU_FROM_BACKPORTS = {"bookworm"}


@dataclass(frozen=True)
class Distribution:
    """A distribution, by the fields ID and VERSION_CODENAME of /etc/os-release."""

    identity: str
    codename: str

    @property
    def is_known(self) -> bool:
        """Return True if Bulkhead can install packages on it."""
        return self.identity in ("debian", "ubuntu") and bool(self.codename)

    @property
    def kernel_package(self) -> str:
        """The package that depends on the current arm64 Linux kernel."""
        return "linux-image-generic" if self.identity == "ubuntu" else "linux-image-arm64"

    @property
    def real_time_kernel_package(self) -> str | None:
        """The package that depends on the current arm64 PREEMPT_RT kernel. None if none exists."""
        return "linux-image-rt-arm64" if self.identity == "debian" else None


def from_os_release(fields: dict[str, str]) -> Distribution:
    """Return the distribution that fields of /etc/os-release describe."""
    return Distribution(fields.get("ID", ""), fields.get("VERSION_CODENAME", ""))


@cache
def current() -> Distribution:
    """Return the distribution of this machine."""
    try:
        return from_os_release(platform.freedesktop_os_release())
    except OSError:
        return Distribution("", "")


def architecture() -> str:
    """Return Debian's name for the architecture of this machine."""
    return DEBIAN_ARCHITECTURES.get(platform.machine(), platform.machine())
