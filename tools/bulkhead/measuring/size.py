# SPDX-License-Identifier: BSD-2-Clause
"""Measure the driver's memory in a running guest, code, and translation tables: ./bulkhead size."""

import re
from pathlib import Path

from bulkhead.building import build
from bulkhead.measuring.bench import BenchResult, Number, report
from bulkhead.measuring.instructions import PARTS, ImageCode
from bulkhead.output_path import check_output_path
from bulkhead.paths import OUTPUT
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


def size(json_path: Path | None, settings: Settings) -> None:
    """Measure and print; write the JSON file if one is asked for."""
    check_output_path(json_path)
    report("size", measure(settings), json_path)


def measure(settings: Settings) -> BenchResult:
    """Build the guests, boot one of them, and count."""
    variant = build.Variant("arm64")
    host = build.Variant("host")
    packages.ensure({"run"} | variant.groups | host.groups, settings)
    folder = build.build(variant)
    builder = build.build(host, [stage2.BUILDER]) / stage2.BUILDER
    kernel = build.guest_image("boot", folder=folder).read_bytes()
    summary: dict[str, Number] = {
        **_memory(build.guest_image("cost-sockets", folder=folder)),
        **text_bytes(folder / "hypervisor"),
        "stage2_bytes_1gib": stage2.stage2_bytes(builder, kernel, stage2.partition_of(1 << 30)),
    }
    code = ImageCode(folder / "images/demo.elf").bytes_by_part()
    return BenchResult(summary, [{"part": each, "code_bytes": code[each]} for each in PARTS])


def _memory(image: Path) -> dict[str, Number]:
    """Return the memory of the driver, as printed by a guest that exposes 8 buffers."""
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


def text_bytes(folder: Path) -> dict[str, Number]:
    """Return the bytes of the hypervisor's code.

    That is: all code of the image for direct interrupts on dedicated cores, the part of it that a
    monitor has mapped while its guest runs, and what other images have more: that for listed
    interrupts, that for shared cores more than this one, and those for a manager and for channels;
    and all code of the image that has every part.
    """
    usual, listed, shared, managed, connected, largest = (
        _sections(folder / f"hypervisor{kind}.elf")
        for kind in (
            "",
            "-listed",
            "-shared",
            "-managed",
            "-connected",
            "-shared-managed-connected",
        )
    )
    return {
        "hypervisor_text_bytes": sum(usual.values()),
        "monitor_text_bytes": usual["resident"],
        "listed_text_bytes": sum(listed.values()) - sum(usual.values()),
        "shared_text_bytes": sum(shared.values()) - sum(listed.values()),
        "manager_text_bytes": sum(managed.values()) - sum(usual.values()),
        "channel_text_bytes": sum(connected.values()) - sum(usual.values()),
        "largest_text_bytes": sum(largest.values()),
    }


def _sections(elf: Path) -> dict[str, int]:
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        sizes = {section.name: section["sh_size"] for section in ELFFile(file).iter_sections()}
    return {part: sizes[f".text.{part}"] for part in ("boot", "resident", "services")}
