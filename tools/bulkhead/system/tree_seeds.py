# SPDX-License-Identifier: BSD-2-Clause
"""The properties for random numbers in a guest's devicetree, which the hypervisor fills in.

See hypervisor/include/hypervisor/tree_seeds.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_NAMES_AND_WORDS = (("kaslr-seed", 2), ("rng-seed", 8))
# Offsets of the structures, of the strings and of nothing more (Devicetree Specification, 5.2).
_HEADER = struct.Struct(">8xII")
_PROPERTY = struct.Struct(">III")  # token, size of the value, offset of the name (5.4)
_FDT_PROP = 3


def lines(indent: str) -> Iterator[str]:
    """Yield the properties of /chosen, one after the other."""
    for name, words in _NAMES_AND_WORDS:
        yield f"{indent}{name} = <{' '.join(['0'] * words)}>;"


def without(source: str) -> str:
    """Return a devicetree's source without the properties.

    Without the hypervisor a guest would take the zeroes for random numbers.
    """
    own = {line.strip() for line in lines("")}
    return "".join(line for line in source.splitlines(keepends=True) if line.strip() not in own)


def find(tree: bytes) -> int:
    """Return the offset of the properties in a devicetree that has them."""
    structures, strings = _HEADER.unpack_from(tree)
    wanted = b"".join(
        _PROPERTY.pack(_FDT_PROP, 4 * words, _string(tree, strings, name)) + bytes(4 * words)
        for name, words in _NAMES_AND_WORDS
    )
    return tree.index(wanted, structures)


def _string(tree: bytes, strings: int, name: str) -> int:
    """Return the offset of a string. It may be the end of another one (5.3)."""
    return tree.index(name.encode() + b"\0", strings) - strings
