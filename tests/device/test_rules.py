# SPDX-License-Identifier: BSD-2-Clause
"""Each rule of rules.h was checked on each kind of transport it applies to, and held."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

import pytest
from support.device_kinds import BY_NAME, LEGACY_KINDS, MODERN_KINDS, Run, each_kind, pairs_case
from support.parked import Outcome
from support.transports import SPLIT, Transport

from bulkhead.paths import TESTS

# Tests of one worker share the counts of cases that already ran.
pytestmark = pytest.mark.xdist_group("device/test_rules")

_RULES = dict(re.findall(r'RULE\((\w+), "([^"]+)"\)', (TESTS / "device" / "rules.h").read_text()))
_PCI = tuple(name for name in (*MODERN_KINDS, *LEGACY_KINDS) if name.startswith("pci"))
_MSIX = tuple(name for name in _PCI if "msix" in name)
_ABOUT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(["FEATURES_CHECKED", "FEATURES_SELECTED", "VERSION_1", "CONFIG_GENERATION",
                     "HEADER_BUFFERS", "QUEUE_ENABLED"], MODERN_KINDS),
    **dict.fromkeys(["CONFIG_TWICE"], LEGACY_KINDS),
    **dict.fromkeys(["VECTOR_READ", "VECTOR_INSIDE"], _MSIX),
    **dict.fromkeys(["CAUSE_MSIX"], ("mmio-2", "mmio-1", "pci-modern-virt-intx",
                                     "pci-legacy-q35-intx")),
    **dict.fromkeys(["CAUSE_ACKNOWLEDGED"], ("mmio-2", "mmio-1")),
}  # fmt: skip
# Rules that apply only without some features.
_WITHOUT = {
    "HEADER_ALONE": ("any_layout", LEGACY_KINDS),
    "FLAGS_VALID": ("event_idx", (*MODERN_KINDS, *LEGACY_KINDS)),
}
_AFTER_FAILURE = "FAILED_RESET"
_SEGMENTATION = "HEADER_CUT"
_COMMANDS = ("COMMAND_SHAPE", "COMMAND_AGREED")
_PAIRS = ("PAIRS_OFFERED", "PAIRS_READY")
# Rules about one ring format.
_ON_RING = {
    **dict.fromkeys(["PACKED_WRAP", "PACKED_COMPLETE", "PACKED_ROOM", "PACKED_UNTOUCHED",
                     "EVENT_RESERVED", "EVENT_AGREED", "EVENT_INSIDE"], "packed"),
    **dict.fromkeys(["IN_ORDER_NEXT", "IN_ORDER_RING"], "split_in_order"),
}  # fmt: skip
_SPLIT_RULES = ("INDEX_FORWARD", "DESCRIPTOR_FREE", "FLAGS_ZERO", "FLAGS_VALID")
_traffic_counts: dict[tuple[str, str, tuple[str, ...]], dict[str, int]] = {}


def _rule_counts(outcome: Outcome) -> dict[str, int]:
    found = re.findall(r"^rule (\w+) (\d+):", outcome.output, re.MULTILINE)
    return {rule: int(count) for rule, count in found}


def _counts(run_case: Run, name: str, ring: str, refused: tuple[str, ...]) -> dict[str, int]:
    key = (name, ring, refused)
    if key not in _traffic_counts:
        case = BY_NAME[name].case("far_end_blocked", ring, refused=refused)
        _traffic_counts[key] = _rule_counts(run_case(case))
    return _traffic_counts[key]


def _rings_of(rule: str) -> Sequence[str]:
    if rule in _ON_RING:
        return [_ON_RING[rule]]
    return [SPLIT] if rule in _SPLIT_RULES else [SPLIT, "packed"]


@pytest.mark.parametrize(
    "rule",
    [rule for rule in _RULES if rule not in (_AFTER_FAILURE, _SEGMENTATION, *_COMMANDS, *_PAIRS)],
)
def test_rule(run_case: Run, rule: str) -> None:
    """The rule's clause is in rules.h."""
    feature, names = _WITHOUT.get(rule, (None, _ABOUT.get(rule, (*MODERN_KINDS, *LEGACY_KINDS))))
    for name, ring in itertools.product(names, _rings_of(rule)):
        if ring in BY_NAME[name].rings:
            counts = _counts(run_case, name, ring, (feature,) if feature else ())
            assert counts[rule] > 0, f"{_RULES[rule]}: it never came up on {name}, {ring}"


@each_kind
def test_rule_after_failure(run_case: Run, transport: Transport) -> None:
    """2.1.1: after FAILED the driver does nothing but reset the device."""
    assert _rule_counts(run_case(transport.case("restart_after_failed")))[_AFTER_FAILURE] > 0


@each_kind
def test_rule_on_segmentation(run_case: Run, transport: Transport) -> None:
    """5.1.6.2.1: a frame that the device is to segment says how."""
    outcome = run_case(transport.case("segments_transmitted", vnet=True))
    assert _rule_counts(outcome)[_SEGMENTATION] > 0


@each_kind
def test_rules_on_commands(run_case: Run, transport: Transport) -> None:
    """5.1.6.5: commands have the standard's form."""
    counts = _rule_counts(run_case(transport.case("receive_modes")))
    assert all(counts[rule] > 0 for rule in _COMMANDS)


@each_kind
def test_rules_on_pairs(run_case: Run, transport: Transport) -> None:
    """5.1.6.5.6.1: the command that enables the pairs."""
    case = pairs_case(transport, "pairs_traffic", SPLIT, device=2, asked=2)
    counts = _rule_counts(run_case(case))
    assert all(counts[rule] > 0 for rule in _PAIRS)
