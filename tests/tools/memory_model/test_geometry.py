# SPDX-License-Identifier: BSD-2-Clause
"""Caches and TLBs as users write them, and wrong ones: one line, exit 2."""

from __future__ import annotations

import re

import pytest

from bulkhead.cli import main
from bulkhead.memory_model.geometry import Cache, Geometry, Tlb, parse_cache, parse_tlb


@pytest.mark.parametrize(
    ("text", "cache"),
    [
        ("1 MiB,16,64", Cache(1 << 20, 16, 64)),
        ("512KiB, 8, 32", Cache(512 << 10, 8, 32)),
        ("48 KiB,3,64", Cache(48 << 10, 3, 64)),
        ("1 GiB,64,4096", Cache(1 << 30, 64, 4096)),
    ],
)
def test_cache(text: str, cache: Cache) -> None:
    assert parse_cache(text, "--cache") == cache


def test_tlb() -> None:
    assert parse_tlb("512,4", "--tlb") == Tlb(512, 4)
    assert parse_tlb("10, 10", "--tlb") == Tlb(10, 10)


def test_arguments_of_the_plugin() -> None:
    assert Geometry().options() == (
        "shared=1048576:16:64:lru",
        "instruction=32768:4:64:lru",
        "data=32768:4:64:lru",
        "tlb=512:4",
        "stage2_tlb=64:4",
    )


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--cache", "big", "is not a cache"),
        ("--cache", "1 MB,16,64", "is not a cache"),
        ("--cache", "1 MiB,16", "is not a cache"),
        ("--cache", "1 MiB,0,64", "1 to 64 ways"),
        ("--cache", "1 MiB,128,64", "1 to 64 ways"),
        ("--cache", "1 MiB,16,48", "a power of two"),
        ("--cache", "1 MiB,16,8", "a line has 16 to 4096 bytes"),
        ("--cache", "1 MiB,3,64", "the sets"),
        ("--cache", "3 MiB,16,64", "the sets"),
        ("--cache", "2 GiB,16,64", "at most 1 GiB"),
        ("--cache", "1 KiB,64,64", "the sets"),
        ("--private", "32 KiB,4,128", "lines of 64 bytes"),
        ("--tlb", "512", "is not a TLB"),
        ("--tlb", "512,0", "1 to 64 ways"),
        ("--tlb", "96,4", "a power of two"),
        ("--tlb", "131072,4", "at most 65536"),
        ("--instructions", "0", "--instructions"),
        ("--replacement", "fifo", "--replacement"),
    ],
)
def test_wrong_option_is_one_line(
    option: str, value: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "minimal", option, value]) == 2
    error = capsys.readouterr().err
    assert re.fullmatch(rf"bulkhead: [^\n]*{re.escape(words)}[^\n]*\n", error), error


def test_tree_of_bits_needs_a_power_of_two(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["cache", "minimal", "--private", "48 KiB,3,64", "--replacement", "plru"]
    assert main(arguments) == 2
    assert "--private has 3 ways" in capsys.readouterr().err


def test_missing_system_and_folder_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["nothing"], ["minimal", "--svg", "/no-folder/a.svg"]):
        assert main(["cache", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1
