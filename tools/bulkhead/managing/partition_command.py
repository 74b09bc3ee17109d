# SPDX-License-Identifier: BSD-2-Clause
"""Create, start, stop, replace and destroy partitions of a running system: ./bulkhead partition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.layouts.manager import ManagerResult
from bulkhead.managing.partitions import Answer, Command, Requests, State, check_image, refusal
from bulkhead.running.attach import Running, attach
from bulkhead.running.machine_memory import map_range
from bulkhead.system.parse import parse_address
from bulkhead.system.problems import choose, show

_COMMANDS = [command.name.lower() for command in Command]


def partition_command(
    action: str, name: str | None, to: str | None, image: Path | None, system: str
) -> None:
    """Carry out the command, or list the states of all partitions."""
    command = _command(action)
    if command is Command.GIVE:
        _give(name, to, system)
        return
    if to is not None:
        raise UserError(f"{action} has no argument {show(to)}", "leave it out")
    content = _image(command, name, image)
    running, qmp = attach(system)
    qmp.close()
    requests = _requests(running)
    if command is Command.LIST:
        _print(running.partitions, requests.list(), range(len(running.partitions)))
        return
    index = _index(running.partitions, name or "")
    answer = requests.order(command, index, content)
    if answer.result != 0:
        what, fix = refusal(answer.result)
        raise UserError(f"{action} of partition {show(name)}: {what}", fix)
    _print(running.partitions, answer, [index])


def _give(function: str | None, name: str | None, system: str) -> None:
    """Move a PCI function to a partition."""
    if function is None or name is None:
        raise UserError(
            "give needs a PCI function and a partition",
            "write for example ./bulkhead partition give 00:02.0 net2",
        )
    address = parse_address(function)
    if address is None:
        raise UserError(
            f"{show(function)} is no PCI function", "write bus:device.function, such as 00:02.0"
        )
    running, qmp = attach(system)
    qmp.close()
    index = _index(running.partitions, name)
    answer = _requests(running).give(address.number, index)
    if answer.result != 0:
        what, fix = _GIVE_REFUSALS.get(answer.result, refusal(answer.result))
        raise UserError(f"PCI function {function} to partition {show(name)}: {what}", fix)
    console.results().print(f"{name} gets {function}", markup=False, highlight=False)


_GIVE_REFUSALS: dict[int, tuple[str, str]] = {
    ManagerResult.INVALID: (
        "it does not move there",
        "name a function of a partition with a standby, and one of the two (docs/systems.md)",
    ),
    ManagerResult.BUSY: ("it is on its way to another partition", "ask again"),
    ManagerResult.RESET_FAILED: (
        "it was not reset, so no partition has it",
        "ask again; if that fails, reset the board",
    ),
}


def _command(action: str) -> Command:
    if action not in _COMMANDS:
        raise UserError(f"there is no action {show(action)}", choose(action, _COMMANDS, "actions"))
    return Command[action.upper()]


def _image(command: Command, name: str | None, image: Path | None) -> bytes:
    """Check the arguments together. Returns the image, if the command has one."""
    action = command.name.lower()
    if command is Command.LIST and name is not None:
        raise UserError(f"list has no argument {show(name)}", "leave it out")
    if command is not Command.LIST and name is None:
        raise UserError(f"{action} needs a partition", f"write ./bulkhead partition {action} NAME")
    if command is Command.REPLACE and image is None:
        raise UserError("replace needs an image", "add --image FILE")
    if image is None:
        return b""
    if command is not Command.REPLACE:
        raise UserError(f"{action} has no option --image", "leave it out")
    try:
        content = image.read_bytes()
    except OSError as error:
        raise UserError(f"{image} can't be read ({error.strerror})", "name an image") from None
    check_image(content, str(image))
    return content


def _requests(running: Running) -> Requests:
    if not running.staging_bytes:
        raise UserError(
            f"system {show(running.name)} has no manager",
            "write manager = true in a partition of its file (docs/partitions.md)",
        )
    try:
        memory = map_range(running.memory, running.staging, running.staging_bytes)
    except (OSError, ValueError) as error:
        raise UserError(
            f"the memory of system {show(running.name)} can't be opened ({error})",
            "call this as the user who runs the system",
        ) from None
    return Requests(memory, len(running.partitions))


def _index(partitions: Sequence[str], name: str) -> int:
    if name not in partitions:
        raise UserError(
            f"there is no partition {show(name)}", choose(name, partitions, "partitions")
        )
    return partitions.index(name)


def _print(names: Sequence[str], answer: Answer, partitions: Sequence[int]) -> None:
    for index in partitions:
        line = f"{names[index]:15} {describe(answer, index)}"
        console.results().print(line, markup=False, highlight=False)


def describe(answer: Answer, partition: int) -> str:
    """Return the state of a partition, and what the manager knows of its errors."""
    known = {state.value: state.name.lower() for state in State}
    parts = [known.get(answer.states[partition], "unknown")]
    if errors := answer.errors[partition]:
        parts.append(f"{errors} error{'s' if errors > 1 else ''}")
    if answer.results[partition] == ManagerResult.RESTARTS_USED_UP:
        parts.append("has used up its restarts")
    return ", ".join(parts)
