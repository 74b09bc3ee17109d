# SPDX-License-Identifier: BSD-2-Clause
"""The initramfs files of Linux guests, which several callers make at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead.peers import linux_guest
from bulkhead.peers.linux_guest import LinuxImage


@pytest.fixture
def plain(tmp_path: Path) -> LinuxImage:
    initrd = tmp_path / "initrd.gz"
    initrd.write_bytes(b"a compressed archive")
    return LinuxImage(tmp_path / "Image", initrd)


def test_two_scripts_of_one_name_have_files_of_their_own(plain: LinuxImage) -> None:
    """Tests that run at the same time gave their scripts one name, and one ran the other's."""
    first = linux_guest.with_script(plain, "use", "echo first\n")
    second = linux_guest.with_script(plain, "use", "echo second\n")
    assert b"echo first" in first.initrd.read_bytes()
    assert b"echo second" in second.initrd.read_bytes()


def test_the_same_files_are_kept_once(plain: LinuxImage) -> None:
    """A run of many tests does not fill the disk with equal files."""
    images = [linux_guest.with_script(plain, "use", "echo word\n") for _ in range(2)]
    assert images[0] == images[1]
    assert len(list(plain.initrd.parent.iterdir())) == 2


def test_an_image_of_an_image_has_both_names(plain: LinuxImage) -> None:
    image = linux_guest.with_files(plain, "first", {"first": b""})
    image = linux_guest.with_files(image, "second", {"second": b""})
    assert image.initrd.name.startswith("initrd-first-second.")
    content = image.initrd.read_bytes()
    assert content.startswith(plain.initrd.read_bytes())
    assert len(content) % 4 == 0
