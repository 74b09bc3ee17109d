# SPDX-License-Identifier: BSD-2-Clause
"""Send requests to the manager of a running system, which apps/manager/requests.c carries out.

The manager is a guest, so no value that it writes is trusted.
"""

from __future__ import annotations

import mmap
import time
import zlib
from dataclasses import dataclass, replace
from enum import IntEnum

from bulkhead.errors import UserError
from bulkhead.layouts import manager
from bulkhead.layouts.manager import REQUEST_PAGE_MAGIC, ManagerResult, OrderCommand, RequestPage
from bulkhead.system.description import PAGE_BYTES

_WAIT_S, _POLL_S = 20.0, 0.01
_IMAGE_MAGIC, _IMAGE_MAGIC_AT = b"ARM\x64", 56
_ALL_BITS = 0xFFFFFFFF

State = manager.PartitionState


class Command(IntEnum):
    """The orders, GIVE, which moves a device, and LIST, which only reads the states."""

    CREATE = OrderCommand.CREATE
    START = OrderCommand.START
    STOP = OrderCommand.STOP
    REPLACE = OrderCommand.REPLACE
    DESTROY = OrderCommand.DESTROY
    CRASH = OrderCommand.CRASH
    GIVE = manager.REQUEST_GIVE
    LIST = 255


_REFUSALS = {
    ManagerResult.NOT_SUPPORTED: (
        "the hypervisor has no such call for this manager",
        "make it the manager of its system",
    ),
    ManagerResult.INVALID: (
        "the manager decides about other partitions only",
        "name another partition",
    ),
    ManagerResult.BUSY: (
        "it still starts or stops",
        "ask again when ./bulkhead partition list shows its state",
    ),
    ManagerResult.WRONG_STATE: ("its state does not allow that", "see ./bulkhead partition list"),
    ManagerResult.NEVER_RESTARTS: (
        'it has been started, and restart = "never"',
        "restart the system",
    ),
    ManagerResult.BAD_IMAGE: (
        "the file is no arm64 Image for it",
        "build an Image, as ./bulkhead build makes them",
    ),
    ManagerResult.TOO_LARGE: (
        "the image is larger than the room for it",
        "give memory or staging more room",
    ),
    ManagerResult.DAMAGED: ("the image was damaged on its way", "ask again"),
    ManagerResult.CHANGED: ("the image was changed in the manager's memory", "replace it again"),
    ManagerResult.NOT_ISOLATED: (
        "it executes no more, but DMA of its devices may go on",
        "stop or destroy it again; if that fails, reset the board",
    ),
    ManagerResult.RESET_FAILED: (
        "it executes no more, but its devices are not reset",
        "stop or destroy it again; if that fails, reset the board",
    ),
    ManagerResult.RESTARTS_USED_UP: (
        "it was stopped for an error, and has used up its restarts",
        "see ./bulkhead log, and start it again",
    ),
    manager.RESULT_NOT_REACHED: ("it did not get into that state", "see the system's terminal"),
}


@dataclass(frozen=True)
class Answer:
    """The manager's answer."""

    result: int
    states: tuple[int, ...]  # by partition
    images: tuple[int, ...]  # by partition: offset of its staged image, plus 1; 0: none
    results: tuple[int, ...]  # by partition: of its last order, or why it failed or stays stopped
    errors: tuple[int, ...]  # by partition: the number of its errors


class Requests:
    """The staging memory of a manager."""

    def __init__(self, staging: mmap.mmap, partitions: int) -> None:
        self._memory = staging
        self._page = len(staging) - PAGE_BYTES
        self._partitions = partitions

    def list(self) -> Answer:
        """Return the states of all partitions."""
        return self._make(Command.LIST, 0, b"", 0)

    def order(self, command: Command, partition: int, image: bytes = b"") -> Answer:
        """Give an order. An image is put where the partition's present one is not.

        A partition that is busy may be about to load the image of an earlier order.
        """
        if command is not Command.REPLACE:
            return self._make(command, partition, b"", 0)
        answer = self.list()
        if answer.states[partition] == State.BUSY:
            return replace(answer, result=ManagerResult.BUSY)
        offset = self._slot(partition, len(image), answer.images[partition])
        self._memory[offset : offset + len(image)] = image
        return self._make(command, partition, image, offset)

    def give(self, function: int, partition: int) -> Answer:
        """Move a PCI function, given by its number in the description, to a partition."""
        return self._make(Command.GIVE, partition, b"", function)

    def _slot(self, partition: int, size: int, used: int) -> int:
        """Return the offset of the partition's room for an image: it has two, used in turn. `used`:
        of the present image, as in an answer."""
        room = self._page // (2 * self._partitions) // PAGE_BYTES * PAGE_BYTES
        if size > room:
            raise UserError(
                f"the image has {size >> 10} KiB, and staging has room for images of "
                f"{room >> 10} KiB",
                f"give the manager {2 * self._partitions} times as much staging",
            )
        first = 2 * partition * room
        return first + room if used == first + 1 else first

    def _read(self) -> Answer:
        page = self._copy()
        if page.magic != REQUEST_PAGE_MAGIC:
            raise UserError(
                "the manager does not serve requests", "wait until it says that it listens"
            )
        return Answer(
            page.result,
            tuple(page.states),
            tuple(page.images),
            tuple(page.results),
            tuple(page.errors),
        )

    def _copy(self) -> RequestPage:
        return RequestPage.from_buffer_copy(self._memory, self._page)

    def _write(self, page: RequestPage, start: int, end: int) -> None:
        """Write bytes `start` to `end` of the page."""
        self._memory[self._page + start : self._page + end] = bytes(page)[start:end]

    def _make(self, command: Command, partition: int, image: bytes, offset: int) -> Answer:
        self._read()
        page = self._copy()
        page.command = command
        page.partition = partition
        page.image.bytes = len(image)
        page.image.offset = offset
        page.image.checksum = zlib.crc32(image)
        self._write(page, RequestPage.command.offset, RequestPage.result.offset)
        # The manager carries out the order when it sees another number.
        page.request = (page.request + 1) & _ALL_BITS
        self._write(page, RequestPage.request.offset, RequestPage.answer.offset)
        end = time.monotonic() + _WAIT_S
        while self._copy().answer != page.request:
            if time.monotonic() > end:
                what = f"the manager does not answer for {_WAIT_S:.0f} s"
                fix = "restart it; replaced partitions then need their images again to restart"
                raise UserError(what, fix)
            time.sleep(_POLL_S)
        return self._read()


def refusal(result: int) -> tuple[str, str]:
    """Return what a result means, and what to do."""
    return _REFUSALS.get(result, (f"the manager answered {result}", "see docs/partitions.md"))


def check_image(image: bytes, name: str) -> None:
    """Refuse a file that is no arm64 Image, before it is sent."""
    end = _IMAGE_MAGIC_AT + len(_IMAGE_MAGIC)
    if image[_IMAGE_MAGIC_AT:end] != _IMAGE_MAGIC:
        raise UserError(f"{name} is no arm64 Image", "name one, as ./bulkhead build makes them")
