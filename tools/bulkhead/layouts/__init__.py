# SPDX-License-Identifier: BSD-2-Clause
"""Types and limits of the C sources, which tools/layouts/layouts.py has generated."""

from __future__ import annotations

from ctypes import LittleEndianStructure, sizeof
from typing import TypeVar

_Structure = TypeVar("_Structure", bound=LittleEndianStructure)


def beginning(kind: type[_Structure], data: bytes) -> _Structure:
    """Decode the first bytes of a structure. The members that they do not reach are 0."""
    return kind.from_buffer_copy(data.ljust(sizeof(kind), b"\0"))
