# SPDX-License-Identifier: BSD-2-Clause
"""Read the machine's package archives from its apt configuration, and derive further ones.

This module contains no address of an archive: all come from /etc/apt, in both of its formats
(sources.list(5)).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from debian.deb822 import Deb822

from bulkhead.setup.distribution import Distribution

# The one-line format's options and their names in the deb822 format.
_OPTION_NAMES = {
    "arch": "Architectures",
    "lang": "Languages",
    "target": "Targets",
    "pdiffs": "PDiffs",
    "by-hash": "By-Hash",
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "allow-insecure": "Allow-Insecure",
    "allow-weak": "Allow-Weak",
    "check-valid-until": "Check-Valid-Until",
    "valid-until-min": "Valid-Until-Min",
    "valid-until-max": "Valid-Until-Max",
}
_BASIC_FIELDS = ("types", "uris", "suites", "components", "enabled")
_DISABLED = ("no", "false", "off", "0", "without", "disable")
# Type, options, address (a CD's contains a name with spaces in brackets), suite, components.
_ONE_LINE = re.compile(
    r"\s*(deb|deb-src)\s+(?:\[([^\]]*)\]\s*)?"
    r"((?:cdrom:\[[^\]]*\])?[^\s#]+)\s+([^\s#]+)((?:\s+[^\s#]+)*)"
)
_OWN_POCKETS = ("", "-updates", "-security", "-backports", "/updates")


@dataclass(frozen=True)
class Entry:
    """A line or a stanza that names archives."""

    types: tuple[str, ...]
    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: dict[str, str] = field(default_factory=dict)

    def without(self, *names: str) -> "Entry":
        """Return the entry without some options."""
        return replace(self, options={k: v for k, v in self.options.items() if k not in names})


def parse_one_line_format(text: str) -> list[Entry]:
    """Return the entries of a sources.list: `deb [options] uri suite component...`."""
    entries = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line)
        if not match:
            continue
        kind, option_text, uri, suite, components = match.groups()
        options = {}
        for assignment in (option_text or "").split():
            name, _, value = assignment.partition("=")
            if name.lower() in _OPTION_NAMES and value:
                options[_OPTION_NAMES[name.lower()]] = value.replace(",", " ")
        entries.append(Entry((kind,), (uri,), (suite,), tuple(components.split()), options))
    return entries


def parse_deb822_format(text: str) -> list[Entry]:
    """Return the entries of a *.sources file (deb822) that are not disabled."""
    entries = []
    for fields in Deb822.iter_paragraphs(text, use_apt_pkg=False):
        if not all(name in fields for name in ("Types", "URIs", "Suites")):
            continue
        if fields.get("Enabled", "yes").lower() in _DISABLED:
            continue
        entries.append(
            Entry(
                tuple(fields["Types"].split()),
                tuple(fields["URIs"].split()),
                tuple(fields["Suites"].split()),
                tuple(fields.get("Components", "").split()),
                {key: value for key, value in fields.items() if key.lower() not in _BASIC_FIELDS},
            )
        )
    return entries


def read_machine(folder: Path = Path("/etc/apt")) -> list[Entry]:
    """Return all enabled entries of the machine's configuration."""
    entries = []
    one_line_files = [folder / "sources.list", *sorted(folder.glob("sources.list.d/*.list"))]
    for path in one_line_files:
        if path.is_file():
            entries += parse_one_line_format(path.read_text(errors="replace"))
    for path in sorted(folder.glob("sources.list.d/*.sources")):
        entries += parse_deb822_format(path.read_text(errors="replace"))
    return entries


def own_entries(
    entries: Iterable[Entry], distribution: Distribution, lists: Path = Path("/var/lib/apt/lists")
) -> list[Entry]:
    """Return the binary entries of the distribution's own archives and release.

    They are recognised by their suites, because a mirror can have any address. Third parties use
    the same names of suites; they are recognised by their key, or by the origin in lists that
    were fetched earlier.
    """
    own = []
    suites = {distribution.codename + pocket for pocket in _OWN_POCKETS}
    for entry in entries:
        kept = tuple(suite for suite in entry.suites if suite in suites)
        uris = tuple(
            uri
            for uri in entry.uris
            if not uri.startswith("cdrom:") and _may_be_own(uri, kept, distribution, lists)
        )
        if "deb" in entry.types and kept and uris and "main" in entry.components:
            own.append(replace(entry, types=("deb",), suites=kept, uris=uris))
    best = max((_trust(entry, distribution) for entry in own), default=0)
    return [entry for entry in own if _trust(entry, distribution) == best]


def _trust(entry: Entry, distribution: Distribution) -> int:
    """Return 2 if signed by the distribution's key, 1 by any trusted key, 0 by a key of its own."""
    key = entry.options.get("Signed-By")
    if key is None:
        return 1
    return 2 if f"{distribution.identity}-archive" in key else 0


def _may_be_own(uri: str, suites: Sequence[str], distribution: Distribution, lists: Path) -> bool:
    """Return False if a list that was fetched earlier names another origin."""
    name = re.sub(r"^[a-z0-9+]+:(//)?", "", uri).strip("/").replace("/", "_")
    for suite in suites:
        path = lists / f"{name}_dists_{suite.replace('/', '_')}_InRelease"
        try:
            found = re.search(r"^Origin:\s*(.*)$", path.read_text(errors="replace"), re.MULTILINE)
        except OSError:
            continue
        if found and found.group(1).strip().lower() != distribution.identity:
            return False
    return True


def archive_entries(own: Iterable[Entry], distribution: Distribution) -> list[Entry]:
    """Return the entries that contain the release's base suite, reduced to that suite."""
    return [
        replace(entry, suites=(distribution.codename,))
        for entry in own
        if distribution.codename in entry.suites
    ]


def native_entries(
    own: Sequence[Entry], distribution: Distribution, backports: bool
) -> list[Entry]:
    """Return the entries from which packages for this machine are installed."""
    entries = [_with_all_components(entry, distribution) for entry in own]
    wanted = f"{distribution.codename}-backports"
    if backports and not any(wanted in entry.suites for entry in entries):
        entries += [
            replace(entry, suites=(wanted,)) for entry in archive_entries(own, distribution)[:1]
        ]
    return entries


def source_entries(own: Sequence[Entry], distribution: Distribution, suite: str) -> list[Entry]:
    """Return the entries of the source packages of a suite."""
    return [
        _with_all_components(
            replace(entry, types=("deb-src",), suites=(suite,)), distribution
        ).without("Architectures")
        for entry in archive_entries(own, distribution)[:1]
    ]


def foreign_entries(
    own: Sequence[Entry],
    distribution: Distribution,
    architecture: str,
    archive: str | None,
    suite: str | None = None,
) -> list[Entry]:
    """Return the entries for another architecture, of the same archive or of a given one.

    They are of the same release, or of the named suite.
    """
    result = []
    for entry in archive_entries(own, distribution)[:1]:
        codename = suite or distribution.codename
        suites = (codename, f"{codename}-updates")
        foreign = replace(entry, suites=suites, uris=(archive,) if archive else entry.uris)
        foreign = _with_all_components(foreign, distribution)
        result.append(replace(foreign, options={**foreign.options, "Architectures": architecture}))
    return result


def _with_all_components(entry: Entry, distribution: Distribution) -> Entry:
    """Add universe on Ubuntu, which contains packages that are in main on Debian."""
    if distribution.identity == "ubuntu" and "universe" not in entry.components:
        return replace(entry, components=(*entry.components, "universe"))
    return entry


def render(entries: Iterable[Entry]) -> str:
    """Return the text of a *.sources file."""
    stanzas = []
    for entry in entries:
        fields = {
            "Types": " ".join(entry.types),
            "URIs": " ".join(entry.uris),
            "Suites": " ".join(entry.suites),
            "Components": " ".join(entry.components),
            **entry.options,
        }
        stanzas.append(Deb822(fields).dump())
    return "\n".join(stanzas)
