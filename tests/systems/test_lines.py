# SPDX-License-Identifier: BSD-2-Clause
"""Find the lines of tables and keys in all forms that TOML allows."""

from __future__ import annotations

import tomllib

from bulkhead.system.lines import find_lines

_TEXT = '''# A comment with [[partition]]
"board" = """
[[partition]]
name = 'no' # \\"""
"""
other.dotted = [ # more
    "]",
    [1, 2], # [[partition]]

    3 ]

[[partition]] # one
name = "a"
cores = [
  1,
]
memory = \'\'\'
cores = 1
[[partition]]
\'\'\'
[partition.sub]
name = "b"
[[ 'partition' ]]
\tpci . x = { name = "c" }
[[partition.list]]
x = 1
"y" = [
]
[[ partition . list ]]
[partition.list.deep]
x = 1
[table]
name = "d"
[[channel]]
from = "a"
[[ "channel" ]]
[channel.deep]
x = 1'''


def test_lines() -> None:
    tomllib.loads(_TEXT)
    for text in (_TEXT, _TEXT.replace("\n", "\r\n"), f"{_TEXT}\n\n"):
        lines = find_lines(text)
        assert lines.keys == {
            "board": 2, "other": 6, "partition": 12, "table": 32, "channel": 34,
        }  # fmt: skip
        assert lines.partitions == [
            (12, {"name": 13, "cores": 14, "memory": 17, "sub": 21}),
            (23, {"pci": 24, "list": 25}),
        ]
        assert lines.of_partition(1)[0] == 23
        assert lines.of_partition(2) == (12, {})
        assert lines.of_table(1, "list", 0) == (25, {"x": 26, "y": 27})
        assert lines.of_table(1, "list", 1) == (29, {})
        assert lines.of_table(1, "list", 2) == (25, {})
        assert lines.of_table(0, "sub", 0) == (21, {"name": 22})
        assert lines.of_table(1, "pci", 0) == (24, {})
        assert lines.of_table(0, "list", 0) == (12, {})
        assert lines.of_top_table("channel", 0) == (34, {"from": 35})
        assert lines.of_top_table("channel", 1) == (36, {})
        assert lines.of_top_table("channel", 2) == (34, {})


def test_empty_text_has_no_lines() -> None:
    lines = find_lines("")
    assert (lines.keys, lines.partitions) == ({}, [])
    assert lines.of_partition(0) == lines.of_top_table("core", 0) == (1, {})
