# SPDX-License-Identifier: BSD-2-Clause
"""The bench boot: the options of its plugin, and the figures from the plugin's output."""

from __future__ import annotations

from pathlib import Path

from bulkhead.measuring import bench

boot = bench.load("boot")


def test_guests_are_recognised_by_their_first_instruction(tmp_path: Path) -> None:
    images = [tmp_path / name for name in ("a", "b", "c")]
    for image, word in zip(images, (0xD53BE054, 0xFA405A4D, 0xD53BE054), strict=True):
        image.write_bytes(word.to_bytes(4, "little") + bytes(60))
    option = boot.plugin_option(Path("/x,y/entries.so"), Path("/log"), 0x40200000, images)
    assert option == (
        "/x,,y/entries.so,start=0x40200000,log=/log,entry=0xd53be054,entry=0xfa405a4d"
    )


def test_an_incomplete_line_is_skipped() -> None:
    assert boot.parse_entries("") == []
    assert boot.parse_entries("0 15 ") == []
    assert boot.parse_entries("0 15 16 3\n1 2") == [boot.Entry(0, 15, 16, 3)]


def test_the_last_guest_counts() -> None:
    entries = {
        "demo": [boot.Entry(0, 10, 10, 1), boot.Entry(2, 30, 70, 5)],
        "minimal": [boot.Entry(0, 10, 20, 1)],
        "xen": [boot.Entry(0, 40, 80, 2)],
    }
    assert boot.boot_summary(entries) == {
        "boot_instructions": 70,
        "boot_instructions_minimal": 20,
        "boot_instructions_xen": 80,
        "boot_vs_xen": 0.25,
        "boot_bytes_zeroed": 320,
    }
