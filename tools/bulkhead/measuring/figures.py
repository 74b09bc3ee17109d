# SPDX-License-Identifier: BSD-2-Clause
"""Compare the counted figures with their goals and the values kept in docs/figures.json.

A lower value is better in every counted figure.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.measuring.bench import Number, environment
from bulkhead.paths import ROOT, display

KEPT = ROOT / "docs" / "figures.json"
_MAKE_AGAIN = "make it again: ./bulkhead bench counts --keep"
# The values depend on these two tools, and on our sources.
_TOOLS = ("compiler", "qemu")

Figures = Mapping[str, Mapping[str, Number]]  # by bench, then by name


@dataclass(frozen=True)
class Rule:
    """The goal and the tolerance of the figures of a bench whose names match."""

    bench: str
    names: str  # regular expression for the whole name
    goal: Number | None  # the figure must not exceed it; None if there is no goal
    # Relative change from the kept value that is no finding. None if the figure varies between
    # runs, or counts another project's code: then no change is a finding.
    tolerance: float | None
    # The goal is known to be missed: the table says so, and only a change is a finding.
    is_missed: bool = False


_SMALL_CHANGE = 0.02
_NONE = Rule("", "", None, None)
_RULES = (
    Rule("boot", "instructions_to_first_thread", 1_000_000, _SMALL_CHANGE),
    Rule("boot", "ram_bytes", 1_048_576, None),  # depends on when frames arrive
    Rule("boot", "image_bytes", 524_288, _SMALL_CHANGE),
    Rule("boot", "boot_instructions(_minimal)?|boot_bytes_zeroed", None, _SMALL_CHANGE),
    Rule("cost", r"instructions_vs_linux_(tx|rx)_\d+", 0.15, None),
    Rule("cost", r"(driver_|sockets_)?instructions_rx_\d+(_single)?", None, _SMALL_CHANGE),
    Rule("cost", r"(driver_|sockets_)?instructions_tx_\d+_single", None, _SMALL_CHANGE),
    Rule("exits", "exits_(control|net|linux_other)", 0, 0),
    Rule("irq-latency", r"added_\w+|exits", 0, 0),
    Rule("irq-latency", r"instructions_\w+", None, _SMALL_CHANGE),
    Rule("recovery", "(violation_)?restart_instructions", 2_000_000, _SMALL_CHANGE),
    Rule("recovery", "(violation_)?restart_ms", 10, _SMALL_CHANGE),
    # A fault is at another instant of what the clients do if anything takes an instruction more.
    Rule("recovery", "gap_ms_(local|remote)", 10, None),
    Rule("recovery", "gap_failed_(local|remote)", 0, 0),
    Rule("size", "virtio_ram_bytes", 49_152, _SMALL_CHANGE),
    Rule("size", "monitor_text_bytes", 4_096, _SMALL_CHANGE),
    Rule("size", "largest_text_bytes", 65_536, _SMALL_CHANGE, is_missed=True),
    Rule("size", "stage2_bytes_1gib", 16_384, 0),
    Rule("size", r"\w+", None, _SMALL_CHANGE),
    Rule("vcpu", r"share_error_\w+", 0.001, 0.1),
    Rule("vcpu", "share_shortfall_max", 0, 0),
    Rule("vcpu", "work_lost_max", 0.001, None),
    Rule("vcpu", "context_switch_instructions", 150, _SMALL_CHANGE),
    Rule("vcpu", "decision_instructions", 300, _SMALL_CHANGE),
    Rule("vcpu", "decision_32_vs_4", 1.1, _SMALL_CHANGE),
    Rule("vcpu", r"(wake|block)_switch_instructions|decision_entry_\w+", None, _SMALL_CHANGE),
    # The flood depends on the host's speed.
    Rule("vcpu", "jitter_ratio", 1.2, None),
    Rule("vcpu", "missed_deadlines", 0, 0),
    Rule("vcpu", "io_follows_budget_error", 0.05, None),
    Rule("vcpu", "late_max_quiet", None, _SMALL_CHANGE),
)


class Verdict(enum.IntEnum):
    """The result of a comparison; the worst comes first."""

    MISSES_GOAL = 0
    MOVED = 1
    NOT_MEASURED = 2
    NOT_KEPT = 3
    KNOWN_TO_MISS_GOAL = 4
    FINE = 5

    @property
    def text(self) -> str:
        """The text for a table."""
        return "" if self is Verdict.FINE else self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Comparison:
    """A figure beside its kept value. A value is None where there is none."""

    bench: str
    name: str
    value: Number | None
    kept: Number | None
    goal: Number | None
    verdict: Verdict

    @property
    def change(self) -> float | None:
        """Relative to the kept value: above 0 it is worse, infinite if the kept value was 0."""
        if self.value is None or self.kept is None:
            return None
        if self.value == self.kept:
            return 0.0
        return (self.value - self.kept) / self.kept if self.kept else float("inf")


def rule_of(bench: str, name: str) -> Rule:
    """Return the rule for a figure."""
    rules = (rule for rule in _RULES if rule.bench == bench and re.fullmatch(rule.names, name))
    return next(rules, _NONE)


def compare(measured: Figures, kept: Figures, *, same_tools: bool = True) -> list[Comparison]:
    """Compare the figures of the measured benches with the kept ones; the worst comes first.

    Without `same_tools` the values come from another compiler or QEMU than the kept ones, and a
    change of a value is no finding.
    """
    found = []
    for bench, values in measured.items():
        before = kept.get(bench, {})
        for name in dict.fromkeys([*values, *before]):
            rule = rule_of(bench, name)
            value, kept_value = values.get(name), before.get(name)
            verdict = _judge(rule, value, kept_value, same_tools=same_tools)
            found.append(Comparison(bench, name, value, kept_value, rule.goal, verdict))
    return sorted(found, key=lambda each: (each.verdict, -(each.change or 0.0)))


def _judge(rule: Rule, value: Number | None, kept: Number | None, *, same_tools: bool) -> Verdict:
    if value is None:
        return Verdict.NOT_MEASURED
    misses_goal = rule.goal is not None and value > rule.goal
    if misses_goal and not rule.is_missed:
        return Verdict.MISSES_GOAL
    if kept is None:
        return Verdict.NOT_KEPT
    if rule.tolerance is not None and same_tools and abs(value - kept) > rule.tolerance * kept:
        return Verdict.MOVED
    return Verdict.KNOWN_TO_MISS_GOAL if misses_goal else Verdict.FINE


def tools() -> dict[str, str]:
    """Return the versions of the tools that the values depend on."""
    now = environment()
    return {name: str(now[name]) for name in _TOOLS}


def load(path: Path = KEPT) -> tuple[Figures, dict[str, str]]:
    """Return the kept figures, and the tools that made them."""
    try:
        record = json.loads(path.read_text())
        figures, made_with = record["figures"], record["environment"]
        if not _are_figures(figures) or not isinstance(made_with, dict):
            raise ValueError
    except FileNotFoundError:
        raise UserError(f"{display(path)} is missing", _MAKE_AGAIN) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{display(path)} can't be read", _MAKE_AGAIN) from None
    return figures, made_with


def _are_figures(content: object) -> bool:
    return isinstance(content, dict) and all(
        isinstance(values, dict) and all(isinstance(each, int | float) for each in values.values())
        for values in content.values()
    )


def keep(measured: Figures, path: Path = KEPT) -> None:
    """Write the figures to the file."""
    record = {"environment": tools(), "figures": measured}
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(json.dumps(record, indent=2) + "\n")
    temporary.replace(path)


def findings(comparisons: Iterable[Comparison]) -> Sequence[Comparison]:
    """Return the comparisons that show a change, a missing value or a newly missed goal."""
    return [each for each in comparisons if each.verdict < Verdict.KNOWN_TO_MISS_GOAL]
