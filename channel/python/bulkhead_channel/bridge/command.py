# SPDX-License-Identifier: BSD-2-Clause
"""The command line of bulkhead-channel bridge."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead_channel import RING_BYTES, Channel, OneWayReceiver, OneWaySender, ValueChannel

ZENOH = "eclipse-zenoh==1.10.2"  # channel/pyproject.toml has the same
KINDS = ("messages", "value", "one-way")
_PROBLEM = 2
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The words of the library's line about an end of another kind.
_KIND = re.compile(r" is end ([01]) of a channel of (messages|values|messages one way)$")
_KIND_NAMES = {"messages": "messages", "values": "value", "messages one way": "one-way"}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_EPILOG = """\
CHANNEL is the name in the system file, the address of the PCI function, or a path,
which contains a '/'. For a path, options may follow the key:
  ,end=0|1 (default 0)  ,kind=messages|value|one-way  ,ring=BYTES (default 64K)
Messages of the partition at end E of the channel are published as KEY/E. The bridge takes
the place of the other end, and sends the partition what is published as KEY/(1 - E).
Without options, bridges find each other by multicast.
"""


class Problem(Exception):
    """Something that the user can correct, in one line."""


@dataclass(frozen=True)
class Wanted:
    """A channel to bridge."""

    name: str
    key: str
    end: int = 0
    kind: str = "messages"
    ring_bytes: int = RING_BYTES

    @property
    def is_path(self) -> bool:
        """True if the channel is a file."""
        return "/" in self.name


def parse_channel(text: str) -> Wanted:
    """Return what CHANNEL=KEY[,OPTION=VALUE]... names. Raises Problem."""
    name, equals, rest = text.partition("=")
    key, *options = rest.split(",")
    if not (name and equals and key):
        raise Problem(f"'{text}' is no CHANNEL=KEY: see --help")
    wanted = Wanted(name, key)
    if options and not wanted.is_path:
        raise Problem(f"{name} is no path, so '{options[0]}' has no meaning: remove it")
    chosen: dict[str, str] = {}
    for option in options:
        word, equals, value = option.partition("=")
        if word not in ("end", "kind", "ring") or not equals or word in chosen:
            raise Problem(f"'{option}' is no option of a channel: see --help")
        chosen[word] = value
    return Wanted(
        name, key, _end(chosen.get("end", "0")), _kind(chosen.get("kind", KINDS[0])),
        _ring(chosen["ring"]) if "ring" in chosen else RING_BYTES,
    )  # fmt: skip


def _end(text: str) -> int:
    if text not in ("0", "1"):
        raise Problem(f"'end={text}' is no end: write end=0 or end=1")
    return int(text)


def _kind(text: str) -> str:
    if text not in KINDS:
        raise Problem(f"'kind={text}' is no kind: write one of {', '.join(KINDS)}")
    return text


def _ring(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,10})([KMG]?)", text)
    if found is None:
        raise Problem(f"'ring={text}' is no size: write for example ring=64K")
    return int(found[1]) * _UNITS[found[2]]


def open_channel(wanted: Wanted) -> Channel | ValueChannel | OneWaySender | OneWayReceiver:
    """Open this process's end of a channel of any kind."""
    try:
        return _open(wanted)
    except OSError as error:
        found = None if wanted.is_path else _KIND.search(str(error))
        if found is None:
            raise Problem(str(error)) from None
    except ValueError as error:
        raise Problem(f"{wanted.name}: {error}") from None
    # The function says what it is.
    known = Wanted(wanted.name, wanted.key, int(found[1]), _KIND_NAMES[found[2]])
    try:
        return _open(known)
    except OSError as error:
        raise Problem(str(error)) from None


def _open(wanted: Wanted) -> Channel | ValueChannel | OneWaySender | OneWayReceiver:
    name, ring = wanted.name, wanted.ring_bytes
    if wanted.kind == "messages":
        return Channel(name, end=wanted.end, ring_bytes=ring)
    if wanted.kind == "value":
        return ValueChannel(name, end=wanted.end, ring_bytes=ring)
    return (OneWayReceiver if wanted.end else OneWaySender)(name, ring_bytes=ring)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise Problem(f"{message}: see --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "bulkhead-channel bridge", usage="%(prog)s [OPTION]... CHANNEL=KEY...", epilog=_EPILOG,
        description="Connects channels with those of other boards, as key expressions of Zenoh.",
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("channels", nargs="+", metavar="CHANNEL=KEY", help="a channel and its key")
    parser.add_argument(
        "-c", "--connect", action="append", default=[], metavar="ENDPOINT",
        help="connect with a router or another bridge, such as tcp/10.0.0.2:7447",
    )  # fmt: skip
    parser.add_argument(
        "-l", "--listen", action="append", default=[], metavar="ENDPOINT",
        help="take connections, such as tcp/0.0.0.0:7447",
    )  # fmt: skip
    parser.add_argument(
        "-z", "--zenoh", type=Path, metavar="FILE", help="Zenoh's own configuration (JSON5)"
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Bridge channels until a signal comes. Returns the exit status."""
    try:
        options = _parser().parse_args(arguments)
        wanted = [parse_channel(text) for text in options.channels]
        _check_names(wanted)
        try:
            from bulkhead_channel.bridge import service
        except ImportError as error:
            if error.name != "zenoh":
                raise
            raise Problem(
                f"bridge needs eclipse-zenoh: call python3 -m pip install '{ZENOH}'"
            ) from None
        number = service.serve(wanted, options.connect, options.listen, options.zenoh)
    except Problem as problem:
        print(f"bulkhead-channel: {problem}", file=sys.stderr)
        return _PROBLEM
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return _PROBLEM


def _check_names(wanted: Sequence[Wanted]) -> None:
    keys = [each.key for each in wanted]
    for key in keys:
        if keys.count(key) > 1:
            raise Problem(f"two channels have the key '{key}'")
