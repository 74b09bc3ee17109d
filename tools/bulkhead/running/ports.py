# SPDX-License-Identifier: BSD-2-Clause
"""Find free TCP ports of this machine, for tests and benches."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
from functools import cache

# Below the ports that Linux assigns to outgoing connections (ip_local_port_range), so that none of
# these takes one by chance.
_FIRST = 20000
_BLOCK_PORTS = 64
_BLOCKS = 190


class NoPortsError(Exception):
    """All blocks of ports are reserved, or all ports of ours are in use."""


class PortBlock:
    """Ports of 127.0.0.1 that no other process of ours uses, as long as this object exists.

    The reservation is the name of a socket in the abstract name space (unix(7)). Like the ports,
    this name space is common to the whole machine. The name disappears with the process.
    """

    def __init__(self) -> None:
        self._mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        # Start with different blocks, so that few tries fail.
        start = os.getpid() % _BLOCKS
        for number in (*range(start, _BLOCKS), *range(start)):
            with contextlib.suppress(OSError):
                self._mark.bind(f"\0bulkhead-ports-{number}")
                break
        else:
            self._mark.close()
            raise NoPortsError
        first = _FIRST + number * _BLOCK_PORTS
        self._ports = itertools.cycle(range(first, first + _BLOCK_PORTS))

    def take(self, count: int) -> list[int]:
        """Return `count` different ports on which no process listens, least recently used first."""
        candidates = itertools.islice(self._ports, _BLOCK_PORTS)
        found = list(itertools.islice(filter(_is_free, candidates), count))
        if len(found) < count:
            raise NoPortsError
        return found


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that are free, and that no other process of Bulkhead uses."""
    return _block_of(os.getpid()).take(count)


@cache
def _block_of(_process: int) -> PortBlock:
    """Return the block of a process. A forked process has its own block."""
    return PortBlock()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False
