# SPDX-License-Identifier: BSD-2-Clause
"""Files of `./bulkhead capture` are pcap files with nanoseconds, as scapy reads them."""

from __future__ import annotations

from pathlib import Path

from scapy.utils import RawPcapReader

from bulkhead.capturing import pcap


def test_bytes() -> None:
    """The header and a record, byte by byte (draft-ietf-opsawg-pcap, 4 and 5)."""
    assert pcap.file_header() == bytes.fromhex(
        "4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000"
    )
    assert pcap.packet(3_000_000_007, b"abcd", 1500) == bytes.fromhex(
        "03000000 07000000 04000000 dc050000 61626364"
    )


def test_another_program_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "made.pcap"
    file.write_bytes(
        pcap.file_header()
        + pcap.packet(1_700_000_000_123_456_789, b"x" * 60, 60)
        + pcap.packet(1_700_000_001_000_000_001, b"y" * 96, 65_000)
    )
    reader = RawPcapReader(str(file))
    assert reader.nano
    assert reader.linktype == 1
    (first, one), (second, two) = list(reader)
    assert (first, one.sec, one.usec) == (b"x" * 60, 1_700_000_000, 123_456_789)
    assert (second, two.wirelen, two.caplen) == (b"y" * 96, 65_000, 96)
