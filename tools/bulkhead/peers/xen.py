# SPDX-License-Identifier: BSD-2-Clause
"""Xen, which benches compare with our hypervisor: the distribution's arm64 package."""

from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.paths import BUILD
from bulkhead.peers import arm64_packages
from bulkhead.peers.arm64_packages import Wanted

# xen-system-arm64 depends on the current hypervisor's package, whose name has the version.
_WANTED = Wanted("xen-system-arm64", r"^xen-hypervisor-\d")


def prepare() -> Path:
    """Return the path of Xen's image. Fetches it if it is missing."""
    root = arm64_packages.unpack(BUILD / "xen", "Xen for arm64", [_WANTED])
    found = sorted(root.glob("boot/xen-*-arm64"))
    if not found:
        raise UserError("Xen's package holds no arm64 Image", f"remove {root} and call again")
    return found[-1]
