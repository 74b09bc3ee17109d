# SPDX-License-Identifier: BSD-2-Clause
"""Any system file is accepted or refused with lines of text; no other exception occurs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from bulkhead.errors import UserError, UserErrors
from bulkhead.system.check import check
from bulkhead.system.parse import parse

from . import boards

_HERE = Path(__file__).parent
_FILES = 1500
_WORDS = (
    "[[partition]]", "[partition]", "[partition.pci]", "[[board]]", "board", "partition", "name",
    "cores", "memory", "image", "initrd", "arguments", "devices", "pci", "dma", "console", "=",
    ".", ",", "[", "]", "{", "}", '"', "'", '"""', "'''", "\n", "\r\n", "\\", "\\u0000", "#",
    "true", "-1", "0", "1", "0xffffffffffffffffffff", "1e400", "nan", "1979-05-27", "07:32:00",
    '"64 MiB"', '"0 KiB"', '"boot"', '"linux"', '"/"', '"00:02.0"', '"00:1f.7"', '"rtc"', '"smmu"',
    '"small"', '"large"', '"\u2028"', "\x00", "\ufeff", "é",
    "[[channel]]", "channel", "from", "to", "size", "kind", "one_way", '"64 KiB"', '"value"',
    "[[partition.vcpu]]", "vcpu", "budget", "period", "threads", '"10 ms"', '"main"', '"*"',
    "[partition.health]", "health", "panic", "restarts", '"restart"', '"5 in 60 s"',
    "[[shared_device]]", "shared_device", "client", "backend", "access", "pool", "mac", "vlan",
    '"all"', '"net"', "rate", "mtu", '"20 Mbit/s"', '"02:00:00:00:00:01"', "addresses", '"any"',
    "[partition.driver]", "driver", "alternative", "failures", "retry", '"polled"', '"never"',
)  # fmt: skip


def _value(source: random.Random, depth: int = 0) -> str:
    kind = source.randrange(12 if depth < 3 else 10)
    if kind < 9:
        return source.choice([word for word in _WORDS if word[0] in '"-0123456789tn'])
    if kind == 9:
        return str(source.getrandbits(source.choice((3, 8, 70))))
    inner = [_value(source, depth + 1) for _ in range(source.randrange(4))]
    if kind == 10:
        return f"[{', '.join(inner)}]"
    return f"{{{', '.join(f'k{n} = {value}' for n, value in enumerate(inner))}}}"


_VALUES = {
    "name": ('"a"', '"b"', '"c"', '"long-long-long-long"'),
    "cores": ("[0]", "[1]", "[2, 3]", "[1, 4]", "[99999999999999999999]"),
    "memory": ('"4 MiB"', '"512 MiB"', '"5 KiB"', '"999999999 GiB"'),
    "image": ('"boot"', '"linux"', '"../bad"', '"a/b"', '"\\u00e9"'),
    "initrd": ('"system.toml"', '"."', f'"{"a" * 300}"'),
    "arguments": ('""', '"quiet"', '"\\""'),
    "devices": ('["rtc"]', '["adc0"]', '["timer1", "watchdog"]', '["uart", "modem"]', '["dma"]'),
    "pci": ('["00:02.0"]', '["00:05.0", "00:02.1"]', '["00:00.0"]', '["ff:1f.7"]', "[]"),
    "dma": ('"none"', '"smmu"', '"trusted"'),
    "console": ('"output"', '"interactive"', '"none"'),
    "health": (
        "{}",
        '{ panic = "restart" }',
        '{ memory_violation = "restart", restarts = "16 in 60 s" }',
        '{ refused_dma = "log", restarts = "0 in 0 s" }',
        '{ serror = "ignore", watchdog = 1 }',
        '{ watchdog = "restart", heartbeat = "log" }',
    ),
    "driver": (
        "{}",
        '{ alternative = "polled" }',
        '{ alternative = "polled", failures = "16 in 60 s", period = "50 us", retry = "never" }',
        '{ alternative = "polled", budget = "9 ms", retry = "1 ns" }',
    ),
    "watchdog": ("true", "false", "1"),
    "heartbeat": ('"50 ms"', '"1 ms"', '"0 s"', '"61 s"'),
    "heartbeat_start": ('"5 s"', '"1 ns"'),
    "vcpu": (
        "[]",
        '[{ name = "a", budget = "1 ms", period = "10 ms" }]',
        '[{ name = "b", budget = "9 ms", period = "9 ms", policy = "io" }]',
        '[{ name = "c", budget = "1 ns", period = "999999999 s", threads = ["*"] }]',
        '[{ name = "d", budget = "8 ms", period = "9 ms" }, '
        '{ name = "e", budget = "1 ms", period = "10 ms" }]',
    ),
}
_CHANNEL_VALUES = {
    "name": ('"a"', '"b"', '"c"', '"long-long-long-long"', '"\\n"'),
    "from": ('"a"', '"b"', '"c"', '""'),
    "to": ('"a"', '"b"', '"d"', "[]"),
    "size": ('"4 KiB"', '"64 MiB"', '"1 GiB"', '"3 KiB"', '"999999999 GiB"'),
    "kind": ('"messages"', '"value"', '"stream"'),
    "one_way": ("true", "false"),
    "pci": ("[]", '["a"]', '["b", "a"]', '["d"]'),
}
_SHARED_DEVICE_VALUES = {
    "name": ('"a"', '"b"', '"c"', '"long-long-long-long"'),
    "kind": ('"net"', '"net"', '"block"'),
    "client": ('"a"', '"b"', '"c"', '""'),
    "backend": ('"a"', '"b"', '"d"', "[]"),
    "access": ('"all"', '"none"'),
    "pool": ('"4 MiB"', '"256 KiB"', '"1 GiB"', '"4 KiB"'),
    "mac": ('"02:00:00:00:00:01"', '"01:00:00:00:00:01"', '"02"'),
    "vlan": ("1", "4095", '"all"'),
    "addresses": ('"any"', '"own"', '"all"'),
    "weight": ("1", "0"),
    "rate": ('"20 Mbit/s"', '"999999999 Gbit/s"'),
    "mtu": ("1500", "1"),
    "offset": ('"0 MiB"', '"1 KiB"', '"1 B"'),
    "size": ('"1 MiB"', '"0 KiB"', '"999999999 GiB"'),
    "read_only": ("true", "false", "1"),
}


def _made(source: random.Random) -> bytes:
    """Return well-formed TOML, sometimes with values of a wrong type."""

    def value(key: str, values: Mapping[str, Sequence[str]] = _VALUES) -> str:
        return source.choice(values[key]) if source.random() < 0.98 else _value(source)

    rows = [f"board = {source.choice(['small', 'large', 'single', 'no-pci', 'none'])!r}"]
    for _ in range(source.randrange(11)):
        rows.append("[[partition]]")
        rows += [f"{key} = {value(key)}" for key in ("name", "cores", "memory", "image")]
        others = source.sample(list(_VALUES)[4:], source.randrange(8))
        rows += [f"{key} = {value(key)}" for key in others]
    for _ in range(source.choice((0, 0, 1, 2, 20))):
        rows.append("[[channel]]")
        keys = source.sample(list(_CHANNEL_VALUES), source.randrange(4, 8))
        rows += [f"{key} = {value(key, _CHANNEL_VALUES)}" for key in keys]
    for _ in range(source.choice((0, 0, 1, 2, 20))):
        rows.append("[[shared_device]]")
        keys = source.sample(list(_SHARED_DEVICE_VALUES), source.randrange(4, 13))
        rows += [f"{key} = {value(key, _SHARED_DEVICE_VALUES)}" for key in keys]
    return "\n".join(rows).encode()


def _damaged(source: random.Random) -> bytes:
    """Return one of the tests' files with some bytes, words and lines changed."""
    files = sorted([*_HERE.glob("bad/*.toml"), *_HERE.glob("good/*.toml")])
    text = bytearray(source.choice(files).read_bytes()[:2000])
    for _ in range(source.randrange(1, 6)):
        place, end = sorted(source.choices(range(len(text) + 1), k=2))
        kind = source.randrange(4)
        if kind == 0:
            text[place:place] = source.choice(_WORDS).encode()
        elif kind == 1 and text:
            text[place % len(text)] = source.randrange(256)
        elif kind == 2:
            del text[place : min(end, place + 40)]
        else:
            text[place:place] = text[end : end + 80]
    return bytes(text)


def _words(source: random.Random) -> bytes:
    return " ".join(source.choices(_WORDS, k=source.randrange(60))).encode()


@pytest.mark.parametrize("make", [_made, _damaged, _words])
def test_no_other_exception(tmp_path: Path, make: Callable[[random.Random], bytes]) -> None:
    source = random.Random(4)
    file = tmp_path / "system.toml"
    refused = 0
    for _ in range(_FILES):
        file.write_bytes(make(source))
        try:
            check(parse(file), boards.load)
        except (UserError, UserErrors) as error:
            refused += 1
            lines = [str(each) for each in getattr(error, "errors", [error])]
            assert lines
            for line in lines:
                assert line.startswith(f"{file}:")
                assert line.isprintable()
    assert refused > _FILES // 2
