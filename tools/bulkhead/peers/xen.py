# SPDX-License-Identifier: BSD-2-Clause
"""Fetch Xen, with which benches compare our hypervisor: the distribution's arm64 package."""

from pathlib import Path

from bulkhead import lock
from bulkhead.errors import UserError
from bulkhead.paths import BUILD
from bulkhead.peers import arm64_packages
from bulkhead.peers.arm64_packages import Wanted

# xen-system-arm64 depends on the current hypervisor's package, whose name has the version.
_WANTED = Wanted("xen-system-arm64", r"^xen-hypervisor-\d")
_XEN = BUILD / "xen"
_TOOLS = BUILD / "xen-tools"
# Programs of dom0 with their libraries, and the libraries that programs of ours are linked with.
_WANTED_TOOLS = (
    Wanted("xen-system-arm64", r"^(xen-utils-\d|lib(xen|uuid|fdt|yajl)|zlib1g_)"),
    Wanted("libxen-dev", r"^libxen-dev_"),
)


def prepare() -> Path:
    """Return the path of Xen's image. Fetches it if it is missing."""
    with lock.held(_XEN):
        root = arm64_packages.unpack(_XEN, "Xen for arm64", [_WANTED])
    found = sorted(root.glob("boot/xen-*-arm64"))
    if not found:
        raise UserError("Xen's package holds no arm64 Image", f"remove {root} and call again")
    return found[-1]


def prepare_tools() -> Path:
    """Return the folder with the files of Xen's tools. Fetches them if they are missing."""
    with lock.held(_TOOLS):
        return arm64_packages.unpack(_TOOLS, "Xen's tools for arm64", _WANTED_TOOLS)


def tool(root: Path, name: str) -> bytes:
    """Return a program of Xen's tools."""
    found = sorted(root.glob(f"usr/lib/xen-*/bin/{name}"))
    if not found:
        raise UserError(f"Xen's packages hold no {name}", f"remove {root} and call again")
    return found[-1].read_bytes()
