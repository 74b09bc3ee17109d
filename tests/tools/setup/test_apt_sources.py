# SPDX-License-Identifier: BSD-2-Clause
"""Package archives are read from both of apt's formats, and further archives are derived."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead.setup import apt_sources
from bulkhead.setup.apt_sources import Entry
from bulkhead.setup.distribution import Distribution

DEBIAN_12 = Distribution("debian", "bookworm")
DEBIAN_13 = Distribution("debian", "trixie")
UBUNTU_24 = Distribution("ubuntu", "noble")
DEBIAN_KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU_KEY = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"

DEBIAN_12_LIST = """\
# See sources.list(5).
deb http://mirror.example/debian bookworm main non-free-firmware  # the archive
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/debian-security bookworm-security main
deb cdrom:[Debian 12]/ bookworm main
#deb http://mirror.example/debian bookworm-backports main
deb [arch=amd64 signed-by=/etc/apt/keyrings/other.asc] https://other.example/apt bookworm stable
"""

DEBIAN_13_SOURCES = f"""\
# Modernised by the installer.
Types: deb deb-src
URIs: http://mirror.example/debian/
Suites: trixie trixie-updates
Components: main non-free-firmware
Signed-By: {DEBIAN_KEY}

Types: deb
URIs: http://mirror.example/debian-security/
Suites: trixie-security
Components: main
Signed-By: {DEBIAN_KEY}

Enabled: no
Types: deb
URIs: http://mirror.example/debian/
Suites: trixie-backports
Components: main
"""

UBUNTU_24_SOURCES = f"""\
Types: deb
# a comment within
URIs: http://mirror.example/ubuntu/
Suites: noble noble-updates noble-backports
Components: main restricted
Architectures: amd64
Signed-By: {UBUNTU_KEY}


Types: deb
URIs: https://third.example/
Suites: noble
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----
"""


def test_one_line_format_with_options_and_comments() -> None:
    entries = apt_sources.parse_one_line_format(DEBIAN_12_LIST)
    assert len(entries) == 5
    assert entries[0] == Entry(
        ("deb",),
        ("http://mirror.example/debian",),
        ("bookworm",),
        ("main", "non-free-firmware"),
        {},
    )
    assert entries[1].types == ("deb-src",)
    assert (entries[3].uris, entries[3].suites) == (("cdrom:[Debian 12]/",), ("bookworm",))
    assert entries[4].options == {
        "Architectures": "amd64",
        "Signed-By": "/etc/apt/keyrings/other.asc",
    }


def test_one_line_lists_of_architectures_become_words() -> None:
    (entry,) = apt_sources.parse_one_line_format(
        "deb [ arch=amd64,arm64  trusted=yes ] http://mirror.example/debian bookworm main"
    )
    assert entry.options == {"Architectures": "amd64 arm64", "Trusted": "yes"}


@pytest.mark.parametrize("line", ["deb", "deb http://mirror.example/debian", "rpm x y z", ""])
def test_broken_lines_are_skipped(line: str) -> None:
    assert apt_sources.parse_one_line_format(line) == []


def test_deb822_format_leaves_out_disabled_stanzas() -> None:
    entries = apt_sources.parse_deb822_format(DEBIAN_13_SOURCES)
    assert [entry.suites for entry in entries] == [
        ("trixie", "trixie-updates"),
        ("trixie-security",),
    ]
    assert entries[0].types == ("deb", "deb-src")
    assert entries[0].options == {"Signed-By": DEBIAN_KEY}


def test_deb822_format_keeps_a_key_within_the_stanza() -> None:
    entries = apt_sources.parse_deb822_format(UBUNTU_24_SOURCES)
    assert len(entries) == 2
    assert entries[0].suites == ("noble", "noble-updates", "noble-backports")
    key = entries[1].options["Signed-By"]
    assert key.splitlines()[1].strip() == "-----BEGIN PGP PUBLIC KEY BLOCK-----"
    assert apt_sources.parse_deb822_format(apt_sources.render(entries)) == entries


def test_machine_reads_both_formats(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text(DEBIAN_12_LIST)
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "debian.sources").write_text(DEBIAN_13_SOURCES)
    (parts / "ignored.save").write_text(DEBIAN_12_LIST)
    assert len(apt_sources.read_machine(tmp_path)) == 7


def test_own_entries_of_debian_12_leave_out_third_parties(tmp_path: Path) -> None:
    entries = apt_sources.parse_one_line_format(DEBIAN_12_LIST)
    own = apt_sources.own_entries(entries, DEBIAN_12, tmp_path)
    assert [(entry.uris[0], entry.suites[0]) for entry in own] == [
        ("http://mirror.example/debian", "bookworm"),
        ("http://mirror.example/debian-security", "bookworm-security"),
    ]


def test_own_entries_prefer_the_distributions_key(tmp_path: Path) -> None:
    entries = apt_sources.parse_deb822_format(UBUNTU_24_SOURCES)
    own = apt_sources.own_entries(entries, UBUNTU_24, tmp_path)
    assert [entry.uris for entry in own] == [("http://mirror.example/ubuntu/",)]


def test_own_entries_have_the_distributions_origin(tmp_path: Path) -> None:
    entries = apt_sources.parse_one_line_format(
        "deb http://mirror.example/debian bookworm main\n"
        "deb http://third.example/apt bookworm main\n"
    )
    release = tmp_path / "third.example_apt_dists_bookworm_InRelease"
    release.write_text("Origin: Third Party\nSuite: stable\n")
    own = apt_sources.own_entries(entries, DEBIAN_12, tmp_path)
    assert [entry.uris for entry in own] == [("http://mirror.example/debian",)]


def test_another_release_is_skipped(tmp_path: Path) -> None:
    entries = apt_sources.parse_one_line_format(DEBIAN_12_LIST)
    assert apt_sources.own_entries(entries, DEBIAN_13, tmp_path) == []


def test_native_entries_add_backports_once(tmp_path: Path) -> None:
    lines = apt_sources.parse_one_line_format(DEBIAN_12_LIST)
    own = apt_sources.own_entries(lines, DEBIAN_12, tmp_path)
    native = apt_sources.native_entries(own, DEBIAN_12, backports=True)
    assert [entry.suites for entry in native] == [
        ("bookworm",),
        ("bookworm-security",),
        ("bookworm-backports",),
    ]
    assert native[2].uris == ("http://mirror.example/debian",)
    assert apt_sources.native_entries(native, DEBIAN_12, backports=True) == native


def test_native_entries_of_ubuntu_have_universe(tmp_path: Path) -> None:
    entries = apt_sources.parse_deb822_format(UBUNTU_24_SOURCES)
    own = apt_sources.own_entries(entries, UBUNTU_24, tmp_path)
    (native,) = apt_sources.native_entries(own, UBUNTU_24, backports=False)
    assert native.components == ("main", "restricted", "universe")


def test_source_entries_are_of_the_given_suite(tmp_path: Path) -> None:
    entries = apt_sources.parse_deb822_format(DEBIAN_13_SOURCES)
    own = apt_sources.own_entries(entries, DEBIAN_13, tmp_path)
    (source,) = apt_sources.source_entries(own, DEBIAN_13, "sid")
    assert (source.types, source.suites) == (("deb-src",), ("sid",))
    assert source.options == {"Signed-By": DEBIAN_KEY}


def test_foreign_entries_name_the_architecture_and_an_archive_if_given(tmp_path: Path) -> None:
    entries = apt_sources.parse_deb822_format(UBUNTU_24_SOURCES)
    own = apt_sources.own_entries(entries, UBUNTU_24, tmp_path)
    (foreign,) = apt_sources.foreign_entries(own, UBUNTU_24, "arm64", None)
    assert foreign.options["Architectures"] == "arm64"
    assert foreign.suites == ("noble", "noble-updates")
    assert foreign.uris == ("http://mirror.example/ubuntu/",)
    (later,) = apt_sources.foreign_entries(own, UBUNTU_24, "arm64", None, "plucky")
    assert later.suites == ("plucky", "plucky-updates")
    (ports,) = apt_sources.foreign_entries(own, UBUNTU_24, "arm64", "http://ports.example/ports")
    assert ports.uris == ("http://ports.example/ports",)
