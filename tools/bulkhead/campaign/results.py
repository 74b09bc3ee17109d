# SPDX-License-Identifier: BSD-2-Clause
"""The file of a campaign's results: a line of JSON for each fault, so that it can be continued."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bulkhead.campaign.fault import Fault, Kind, Place
from bulkhead.campaign.verdict import Judgement, Verdict
from bulkhead.errors import UserError
from bulkhead.measuring.bench import Number
from bulkhead.paths import display

_FORMAT = 2


@dataclass(frozen=True)
class Outcome:
    """A fault and its judgement. Times are in instructions, `seconds` of this machine."""

    number: int
    system: str
    place: str
    kind: str
    instant: int
    what: str  # was changed, or why nothing was
    verdict: str
    injected: bool
    used: bool
    activated: bool
    deviation: str  # of a latent error: "turns", "blocks", "stores" or "memory"
    detector: str
    detection: int
    contained: bool
    leaks: list[str]
    recovered: bool | None
    recovery: int
    silent: bool
    silent_neighbour: bool
    seconds: float = 0.0

    def same_as(self, other: Outcome) -> bool:
        """Return True if both are equal but for the time of this machine."""
        return asdict(self) | {"seconds": 0} == asdict(other) | {"seconds": 0}


def outcome_of(fault: Fault, judgement: Judgement, what: str, seconds: float) -> Outcome:
    """Return the record of a fault."""
    return Outcome(
        fault.number,
        fault.system,
        fault.place.value,
        fault.kind.value,
        fault.instant,
        what,
        judgement.verdict.value,
        judgement.injected,
        judgement.used,
        judgement.activated,
        judgement.deviation,
        judgement.detector,
        judgement.detection,
        judgement.contained,
        list(judgement.leaks),
        judgement.recovered,
        judgement.recovery,
        judgement.silent,
        judgement.silent_neighbour,
        round(seconds, 3),
    )


@dataclass(frozen=True)
class Header:
    """What the faults of a file depend on, and how many there are to be."""

    seed: int
    faults: int
    systems: list[str]
    images: list[str]  # digests of the systems' images


def begin(path: Path, header: Header) -> None:
    """Write a new file."""
    path.write_text(json.dumps({"format": _FORMAT, **asdict(header)}) + "\n")


def append(path: Path, outcome: Outcome) -> None:
    """Add an outcome. Half a line, if the process is killed here, is skipped by read()."""
    with path.open("a+b") as file:
        if file.tell() != 0:
            file.seek(-1, os.SEEK_END)
        is_half = file.read(1) not in (b"", b"\n")
        line = json.dumps(asdict(outcome)) + "\n"
        file.write(("\n" * is_half + line).encode())


# The types of the members that a file may have, by their annotations.
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "bool | None": (bool, type(None)),
    "list[str]": (list,),
}


def _require_form(value: Header | Outcome) -> None:
    """Raise TypeError if a member has another type than its annotation says."""
    for each in fields(value):
        found, wanted = getattr(value, each.name), _TYPES[str(each.type)]
        is_sound = isinstance(found, wanted) and (bool in wanted or not isinstance(found, bool))
        if not is_sound or (isinstance(found, list) and not all(isinstance(e, str) for e in found)):
            raise TypeError(each.name)


def _parse(line: str) -> Outcome:
    """Return the outcome of a line. Raises ValueError or TypeError if it has another form."""
    outcome = Outcome(**json.loads(line))
    _require_form(outcome)
    _ = Place(outcome.place), Kind(outcome.kind), Verdict(outcome.verdict)
    return outcome


def read(path: Path) -> tuple[Header, dict[int, Outcome]]:
    """Return the header and the outcomes, by number. Raises UserError."""
    fix = f"leave --resume out, or remove {display(path)}"
    try:
        first, *rest = path.read_text().splitlines()
        content = json.loads(first)
        if content.pop("format") != _FORMAT:
            raise UserError(f"{display(path)} is of another version", fix)
        header = Header(**content)
        _require_form(header)
    except FileNotFoundError:
        raise UserError(f"there are no results in {display(path)}", "leave --resume out") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{display(path)} is not the results of a campaign", fix) from None
    outcomes = {}
    for line in rest:
        try:
            outcome = _parse(line)
        except (ValueError, TypeError):
            continue  # the process that wrote it was killed
        outcomes[outcome.number] = outcome
    return header, outcomes


def check_resumable(path: Path, wanted: Header, found: Header) -> None:
    """Raise UserError unless a file's faults are those of this campaign."""
    for field_ in fields(Header):
        mine, theirs = getattr(wanted, field_.name), getattr(found, field_.name)
        if field_.name == "images" and mine != theirs:
            raise UserError(
                f"{display(path)} is of other images: the tree or the compiler has changed",
                "leave --resume out",
            )
        if field_.name in ("seed", "systems") and mine != theirs:
            shown = ", ".join(theirs) if isinstance(theirs, list) else theirs
            raise UserError(
                f"{display(path)} is of another campaign: {field_.name} {shown}",
                f"write the same {field_.name}, or leave --resume out",
            )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def summary(outcomes: Iterable[Outcome]) -> dict[str, Number]:
    """Return the figures of a campaign. A share of nothing is 1."""
    found = [each for each in outcomes if each.injected]
    used = [each for each in found if each.used or each.activated]
    activated = [each for each in found if each.activated]
    effective = [each for each in activated if each.verdict != Verdict.LATENT.value]
    detected = [each for each in found if each.detector]
    restarted = [each for each in detected if each.recovered is not None]
    return {
        "faults": len(list(found)),
        "used": len(used),
        "masked": sum(each.verdict == Verdict.MASKED.value for each in found),
        "latent": sum(each.verdict == Verdict.LATENT.value for each in found),
        "latent_in_data": sum(each.deviation in ("stores", "memory") for each in found),
        "activated": len(activated),
        "detected": len(detected),
        "contained": sum(each.contained for each in found),
        "containment": _share(sum(each.contained for each in found), len(found)),
        "recovered": sum(bool(each.recovered) for each in restarted),
        "recovered_of_detected": _share(
            sum(bool(each.recovered) for each in restarted), len(detected)
        ),
        "detected_of_activated": _share(len(detected), len(activated)),
        "detected_of_effective": _share(len(detected), len(effective)),
        "detected_of_used": _share(len(detected), len(used)),
        "hung": sum(each.verdict == Verdict.HUNG.value for each in found),
        "silent_corruptions_of_victims": sum(each.silent for each in found),
        "silent_corruptions_of_neighbours": sum(each.silent_neighbour for each in found),
    }


def cells(outcomes: Sequence[Outcome]) -> dict[tuple[Place, Kind], list[Outcome]]:
    """Return the outcomes of each place and kind."""
    found: dict[tuple[Place, Kind], list[Outcome]] = {}
    for each in outcomes:
        found.setdefault((Place(each.place), Kind(each.kind)), []).append(each)
    return found
