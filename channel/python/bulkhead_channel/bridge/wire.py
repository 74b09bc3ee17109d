# SPDX-License-Identifier: BSD-2-Clause
"""The format of what bridges send over the network. docs/fleet.md describes it.

The network is not trusted to send well-formed data: both read functions return None for anything
that no bridge sends.
"""

from __future__ import annotations

import secrets
import struct
from typing import NamedTuple

_MAGIC = b"BkC1"
_TAG_FORMAT = struct.Struct("<4s2I4Q")
_GRANT_FORMAT = struct.Struct("<4s4x4Q")
TAG_BYTES = _TAG_FORMAT.size
GRANT_BYTES = _GRANT_FORMAT.size

CALL_TAG = 1 << 31  # channel/call.h: the message is a request, or its response
_END_FLAG = 1


class Tag(NamedTuple):
    """The attachment of a message or value."""

    tag: int  # of the message, as its sender chose it
    generation: int  # of the sender's life, as its channel counts lives
    life: int  # of the sender's end of the long channel
    to: int  # the life to which the message is sent; 0: to all
    sequence: int  # from 1 on in each pair of lives
    is_end: bool = False  # it carries no message: the sender's life has ended

    def pack(self) -> bytes:
        """Return the bytes of the attachment."""
        flags = _END_FLAG if self.is_end else 0
        return _TAG_FORMAT.pack(_MAGIC, self.tag, flags, *self[1:5])


class Grant(NamedTuple):
    """Permission to send: it also tells that the granting bridge and its life exist."""

    bridge: int
    life: int
    to: int  # the life that may send; 0: the sender of the grant knows none yet
    limit: int  # the last sequence number that it may send

    def pack(self) -> bytes:
        """Return the bytes of the payload."""
        return _GRANT_FORMAT.pack(_MAGIC, *self)


def read_tag(content: bytes) -> Tag | None:
    """Return what an attachment says, None if no bridge has made it."""
    if len(content) != _TAG_FORMAT.size:
        return None
    magic, tag, flags, generation, life, to, sequence = _TAG_FORMAT.unpack(content)
    if magic != _MAGIC or flags & ~_END_FLAG or life == 0 or sequence == 0:
        return None
    return Tag(tag, generation, life, to, sequence, flags == _END_FLAG)


def read_grant(content: bytes) -> Grant | None:
    """Return what the payload of a grant says, None if no bridge has made it."""
    if len(content) != _GRANT_FORMAT.size:
        return None
    magic, bridge, life, to, limit = _GRANT_FORMAT.unpack(content)
    if magic != _MAGIC or bridge == 0 or life == 0:
        return None
    return Grant(bridge, life, to, limit)


def new_number() -> int:
    """Return a number that no other bridge or life has."""
    return secrets.randbits(64) or 1
