# SPDX-License-Identifier: BSD-2-Clause
"""The systems of ./bulkhead bench cache: a victim on core 0, and neighbours on other cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead.peers import linux_guest

VICTIM = "victim"
_PERIODS = 40  # of a millisecond
_SHARE = 'cache = "25 %"'  # the victim's is the same beside all neighbours
_SERVER, _CLIENT = "10.0.0.1", "10.0.0.2"
# Work as that of a compiler: many files, processes and pipes.
_FILES = """echo "cache-files: begins after $(cut -d ' ' -f 1 /proc/uptime) s"
mkdir -p /files
while true; do
    tar -c /bin/busybox /modules /lib 2>/dev/null | gzip -1 > /files/archive
    gzip -dc /files/archive | tar -x -C /files
    find /files -type f -exec sha256sum {} + > /files/sums
    sort /files/sums | uniq > /files/sorted
    rm -r /files/lib /files/modules
done
"""


@dataclass(frozen=True)
class Neighbour:
    """A partition beside the victim: keys of the system file without `name`, `cores`, `cache`."""

    keys: Sequence[str]


@dataclass(frozen=True)
class Workload:
    """The neighbours' work, and the time from which on the victim's accesses are counted."""

    name: str
    neighbours: Callable[[], Sequence[Neighbour]]
    after_ms: int = 5  # since the victim's boot
    instructions: int = 200_000_000  # limit, of all cores, before the victim begins


def _twice(role: str) -> Workload:
    neighbour = Neighbour(['memory = "16 MiB"', 'image = "cache"', f'arguments = "role={role}"'])
    return Workload(role, lambda: (neighbour, neighbour))


def _restarting() -> Sequence[Neighbour]:
    return [Neighbour(['memory = "16 MiB"', 'image = "cache"', 'arguments = "role=restart"'])]


def _tcp() -> Sequence[Neighbour]:
    card = ['memory = "32 MiB"', 'dma = "smmu"']
    return [
        Neighbour(
            [*card, 'image = "demo"', f'arguments = "ip={_SERVER}/24"', 'pci = ["00:02.0"]']
        ),
        Neighbour(
            [
                *card, 'image = "cache-tcp"',
                f'arguments = "ip={_CLIENT}/24 peer={_SERVER}"', 'pci = ["00:03.0"]',
            ]
        ),
    ]  # fmt: skip


def _linux(arguments: str, initrd: Path | None = None) -> Neighbour:
    keys = ['memory = "256 MiB"', 'image = "linux"', f'arguments = "quiet {arguments}"']
    return Neighbour([*keys, *([f'initrd = "{initrd}"'] if initrd else [])])


def _linux_start() -> Sequence[Neighbour]:
    return [_linux("")]


def _linux_files() -> Sequence[Neighbour]:
    image = linux_guest.with_script(linux_guest.prepare(), "cache-files", _FILES)
    return [_linux("run=/bin/cache-files", image.initrd)]


WORKLOADS = (
    *(_twice(role) for role in ("read", "write", "pages", "random", "pointers", "code")),
    Workload("restart", _restarting),
    Workload("tcp", _tcp, after_ms=100),
    Workload("linux-start", _linux_start, after_ms=30),
    Workload("linux-files", _linux_files, after_ms=1300, instructions=3_000_000_000),
)
ALONE = Workload("alone", lambda: ())


def system_text(workload: Workload, *, has_colours: bool) -> str:
    """Return the system file."""
    neighbours = workload.neighbours()
    share = [_SHARE] if has_colours else []
    victim = [
        'memory = "8 MiB"', 'image = "cache"', *share,
        f'arguments = "role=victim after={workload.after_ms} period=1000 periods={_PERIODS}"',
    ]  # fmt: skip
    text = ['board = "qemu-virt"', *_table(VICTIM, 0, victim)]
    for number, neighbour in enumerate(neighbours, 1):
        text += _table(f"neighbour-{number}", number, [*share, *neighbour.keys])
    return "\n".join(text) + "\n"


def _table(name: str, core: int, keys: Sequence[str]) -> list[str]:
    return ["", "[[partition]]", f'name = "{name}"', f"cores = [{core}]", *keys]
