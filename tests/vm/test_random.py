# SPDX-License-Identifier: BSD-2-Clause
"""Test the network's random numbers with each source that QEMU offers, and without any.

One of the devices delivers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine, NetworkCard, UserNetwork

StartGuest = Callable[..., GuestProcess]
FindImage = Callable[[str], Path]
WITHOUT_SEED = "virt,gic-version=3,dtb-randomness=off"
WITH_SEED = "virt,gic-version=3"
OLD, NEW = "cortex-a53", "max"
PCI = ("-device", "virtio-rng-pci")
LEGACY = ("-device", "virtio-rng-pci,disable-modern=on,disable-legacy=off")
MMIO = ("-device", "virtio-rng-device")
PACKED = ("-device", "virtio-rng-pci,packed=on")
# A device that delivers nothing: a host process that sends no bytes is its source.
SILENT = (
    "-chardev", "socket,id=none,host=127.0.0.1,port=0,server=on,wait=off",
    "-object", "rng-egd,id=silent,chardev=none",
    "-device", "virtio-rng-pci,rng=silent",
)  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "cpu", "devices", "told"),
    [
        (WITH_SEED, OLD, (), "random numbers from the devicetree's seed"),
        (WITHOUT_SEED, NEW, (), "random numbers from the processor"),
        (WITH_SEED, NEW, (), "random numbers from the processor and the devicetree's seed"),
        (WITHOUT_SEED, OLD, PCI, "random numbers from a virtio entropy device"),
        (WITHOUT_SEED, OLD, LEGACY, "random numbers from a virtio entropy device"),
        (WITHOUT_SEED, OLD, PACKED, "random numbers from a virtio entropy device"),
        (WITHOUT_SEED, OLD, MMIO, "random numbers from a virtio entropy device"),
        (WITHOUT_SEED, OLD, SILENT, "no source of random numbers"),
        (WITHOUT_SEED, OLD, (), "no source of random numbers"),
    ],
    ids=["seed", "rndr", "both", "pci", "legacy", "packed", "mmio", "silent", "none"],
)
def test_source(
    start_guest: StartGuest,
    image: FindImage,
    machine: str,
    cpu: str,
    devices: tuple[str, ...],
    told: str,
) -> None:
    """The guest names the source, and the network works with each of them."""
    guest = start_guest(
        Machine(
            image("demo"),
            ("exit=semihosting",),
            [NetworkCard(UserNetwork([]), "pci")],
            machine=machine,
            cpu=cpu,
            extra=devices,
        )
    )
    guest.wait_for("net: address", 60)
    lines = re.findall(r"^net: .*random numbers.*$", guest.console(), re.MULTILINE)
    assert len(lines) == 1
    assert lines[0].startswith(f"net: {told}")
