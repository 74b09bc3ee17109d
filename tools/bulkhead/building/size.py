# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead size: the driver's memory in a running guest, source lines, code, tables."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from bulkhead.building import build
from bulkhead.measuring.bench import BenchResult, Number, check_output_path, report
from bulkhead.measuring.instructions import PARTS, ImageCode, part_of
from bulkhead.paths import OUTPUT, ROOT
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine, NetworkCard, UserNetwork
from bulkhead.settings import Settings
from bulkhead.setup import packages
from bulkhead.system import stage2

_BUFFERS = 8
_TRANSMIT_RING = 256
_MEMORY = re.compile(
    r"cost: driver (\d+) private, (\d+) shared, (\d+) buffers of (\d+) exposed, packets of (\d+)"
)
_BOOT_TIMEOUT_S = 60

# What a comment could begin in, and comments. A line that ends in a backslash goes on (C11,
# 5.1.1.2).
_TOKENS = re.compile(
    r"""
    (?P<literal> "(?: \\. | [^"\\\n] )*" | '(?: \\. | [^'\\\n] )*' )
    | (?P<comment> /\* .*? (?: \*/ | \Z ) | // (?: \\\n | [^\n] )* )
    """,
    re.VERBOSE | re.DOTALL,
)


def source_lines(text: str) -> int:
    """Lines of C that are neither blank nor all comment."""

    def without(match: re.Match[str]) -> str:
        if match["comment"] is None:
            return match[0]
        return " " + "\n" * match[0].count("\n")

    return sum(1 for line in _TOKENS.sub(without, text).splitlines() if line.strip())


def driver_sources(root: Path = ROOT) -> list[Path]:
    """The portable library: virtio/ without its ports."""
    virtio = root / "virtio"
    found = [*virtio.rglob("*.c"), *virtio.rglob("*.h")]
    return sorted(path for path in found if virtio / "ports" not in path.parents)


def hypervisor_sources(root: Path = ROOT) -> list[Path]:
    """The separation kernel, assembly included."""
    patterns = ("*.c", "*.h", "*.S", "*.inc")
    return sorted(path for each in patterns for path in (root / "hypervisor").rglob(each))


def count_lines(paths: Iterable[Path]) -> int:
    """Source lines of several files."""
    return sum(source_lines(path.read_text()) for path in paths)


def size(json_path: Path | None, settings: Settings) -> None:
    """Build, boot, count; print, and write the JSON file if one is asked for."""
    check_output_path(json_path)
    variant = build.Variant("arm64")
    host = build.Variant("host")
    packages.ensure({"run"} | variant.groups | host.groups, settings)
    folder = build.build(variant)
    builder = build.build(host, [stage2.BUILDER]) / stage2.BUILDER
    kernel = build.guest_image("boot", folder=folder).read_bytes()
    summary: dict[str, Number] = {
        **_memory(build.guest_image("cost-sockets", folder=folder)),
        "virtio_source_lines": count_lines(driver_sources()),
        **_hypervisor(folder / "hypervisor/hypervisor.elf"),
        "stage2_bytes_1gib": stage2.stage2_bytes(builder, kernel, stage2.partition_of(1 << 30)),
    }
    report("size", BenchResult(summary, _parts(folder / "apps/demo.elf")), json_path)


def _memory(image: Path) -> dict[str, Number]:
    """What the driver of a guest has that exposes 8 buffers; the guest says it when it is up."""
    machine = Machine(
        image,
        boot_arguments=[
            "exit=semihosting", f"rx_buffers={_BUFFERS}", f"tx_ring={_TRANSMIT_RING}",
        ],
        cards=[NetworkCard(UserNetwork())],
    )  # fmt: skip
    with GuestProcess(machine, OUTPUT / "size" / "console.log") as guest:
        found = _MEMORY.search(guest.wait_for_match(_MEMORY.pattern, _BOOT_TIMEOUT_S))
    assert found is not None
    private, shared, buffers, buffer_bytes, packet_bytes = (int(text) for text in found.groups())
    return {
        "virtio_ram_bytes": private + shared + buffers * buffer_bytes,
        "private_bytes": private,
        "shared_bytes": shared,
        "exposed_buffers": buffers,
        "buffer_bytes": buffer_bytes,
        "packet_bytes": packet_bytes,
    }


def _hypervisor(elf: Path) -> dict[str, Number]:
    """Its code: what a monitor has mapped, and all that the image holds."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        sizes = {section.name: section["sh_size"] for section in ELFFile(file).iter_sections()}
    return {
        "hypervisor_source_lines": count_lines(hypervisor_sources()),
        "hypervisor_text_bytes": sum(
            sizes[f".text.{part}"] for part in ("boot", "resident", "services")
        ),
        "monitor_text_bytes": sizes[".text.resident"],
    }


def _parts(elf: Path) -> list[dict[str, Number | str]]:
    """Source lines of our parts, and bytes of code in the demo."""
    code = ImageCode(elf).bytes_by_part()
    lines = Counter[str]()
    for folder in ("apps/demo", "arch", "kernel", "libc", "virtio"):
        for pattern in ("*.c", "*.h"):
            for path in (ROOT / folder).rglob(pattern):
                lines[part_of(path)] += source_lines(path.read_text())
    return [
        {
            "part": each,
            **({"source_lines": lines[each]} if each in lines else {}),
            "code_bytes": code[each],
        }
        for each in PARTS
    ]
