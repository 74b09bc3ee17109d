# SPDX-License-Identifier: BSD-2-Clause
"""Includes go one way: programs, kernel or hypervisor, what they share of the hardware.

The folders of a layer include each other one way, too.
"""

from __future__ import annotations

import os.path
import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support.project_files import project_files

from bulkhead.paths import ROOT

# Where the headers of a layer are looked up.
INCLUDE_FOLDERS = {
    "apps": ("apps",),
    "kernel": ("kernel/include", "kernel", "kernel/machine/arm64", "kernel/machine/host/include"),
    "hypervisor": ("hypervisor/include", "hypervisor"),
    "virtio": ("virtio/include", "virtio"),
    "libc": ("libc/include", "libc/extensions"),
    "arch": ("arch/include", "arch/arm64/include"),
    "devices": ("devices/include",),
    "schedule": ("schedule/include",),
    "backend": ("backend/include",),
    "channel": ("channel/include", "channel/guest/include"),
}

# The layers whose headers a layer may include, besides its own and the C library's. Ports of the
# driver library, those of channels to our kernel and to RTEMS, and that of back-ends to Linux
# belong to the systems that they attach it to, so that only its own code counts.
ALLOWED = {
    "apps": {"kernel", "virtio", "arch", "devices", "channel", "backend"},
    "kernel": {"virtio", "arch", "devices", "schedule", "channel"},
    "hypervisor": {"arch", "devices", "schedule"},
    "virtio": set(),
    "libc": {"arch"},
    "arch": set(),
    "devices": set(),
    "schedule": set(),
    "backend": {"virtio", "arch"},
    "channel": set(),
}

# Folders of the hypervisor that others call, and the folders of those, which they do not call.
CALLERS = {"hypervisor/partition": {"entry"}}

# Functions that the assembly of arch/ calls and that somebody else defines.
DECLARED_IN_ARCH = {"arch_main", "exception_interrupt", "exception_fatal"}


def sources(layer: str) -> list[Path]:
    files = project_files(f"{layer}/*.c", f"{layer}/*.h", f"{layer}/*.S")
    return [path for path in files if path.parts[:2] not in PORTS]


PORTS = {
    ("virtio", "ports"), ("channel", "guest"), ("channel", "rtems"), ("backend", "linux"),
}  # fmt: skip


def headers(path: Path) -> list[str]:
    return re.findall(r"^#\s*include [<\"]([^>\"]+)", (ROOT / path).read_text(), re.M)


def layers_of(header: str, includer: Path) -> set[str]:
    """Return the layers that have a header of that name, as far as the includer can mean it."""
    if (ROOT / includer.parent / header).is_file():
        return {includer.parts[0]}
    return {
        layer
        for layer, folders in INCLUDE_FOLDERS.items()
        if any((ROOT / folder / header).is_file() for folder in folders)
    }


@pytest.mark.parametrize("layer", ALLOWED)
def test_layer_includes_only_those_below(layer: str) -> None:
    files = sources(layer)
    assert files
    wrong = []
    for path in files:
        for header in headers(path):
            found = layers_of(header, path)
            if found and not found & (ALLOWED[layer] | {layer, "libc"}):
                wrong.append(f"{path} includes {header}, of {', '.join(sorted(found))}")
    assert wrong == []


@pytest.mark.parametrize("folder", CALLERS)
def test_folder_includes_nothing_of_its_callers(folder: str) -> None:
    files = project_files(f"{folder}/*.c", f"{folder}/*.h")
    assert files
    wrong = [
        f"{path} includes {header}"
        for path in files
        for header in re.findall(r"^#\s*include \"([^\"]+)", (ROOT / path).read_text(), re.M)
        if Path(header).parts[0] in CALLERS[folder]
    ]
    assert wrong == []


def folder(path: Path) -> str:
    return path.parts[1] if len(path.parts) > 2 else ""


def included_folders(layer: str) -> dict[str, set[str]]:
    """Return for each folder of a layer the other ones that it includes headers of."""
    included = defaultdict(set)
    for path in sources(layer):
        for header in headers(path):
            for place in (path.parent, Path(layer, "include"), Path(layer)):
                found = Path(os.path.normpath(place / header))
                if found.parts[0] == layer and (ROOT / found).is_file():
                    included[folder(path)].add(folder(found))
                    break
    return {name: others - {name} for name, others in included.items()}


# The folders of the hypervisor still include each other in circles.
@pytest.mark.parametrize("layer", sorted(ALLOWED.keys() - {"hypervisor"}))
def test_folders_include_each_other_in_no_circle(layer: str) -> None:
    try:
        TopologicalSorter(included_folders(layer)).prepare()
    except CycleError as error:
        pytest.fail(f"{layer}/: {' is included by '.join(error.args[1])}")


def test_assembly_of_arch_calls_only_what_its_headers_declare() -> None:
    assembly = [path for path in sources("arch") if path.suffix == ".S"]
    assert assembly
    text = "\n".join((ROOT / path).read_text() for path in assembly)
    defined = set(re.findall(r"^(\w+):", text, re.M))
    # mmu_boot is C of arch/ itself.
    called = set(re.findall(r"^\s+(?:bl|b)\s+([a-z_]\w{2,})\b", text, re.M)) - {"mmu_boot"}
    assert called - defined == DECLARED_IN_ARCH
