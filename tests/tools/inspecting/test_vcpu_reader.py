# SPDX-License-Identifier: BSD-2-Clause
"""The VCPUs of a guest, as tools read them from its memory: also damaged ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from support.traced_guest import TracedGuest
from support.vcpu_table import COUNT, HEADER_BYTES, RECORD_BYTES, TABLE, Record, memory_with_vcpus

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import Guest
from bulkhead.inspecting.vcpus import (
    Shares,
    VcpuCounters,
    continues,
    read_vcpus,
    shares_since,
    shares_since_creation,
)

FREE = Record(0, 0, b"", 0, 0, 0, 0, 0, 0, 0, 0)
SECOND_NS = 1_000_000_000
TOO_LARGE = HEADER_BYTES + 257 * RECORD_BYTES


def guest(
    records: Sequence[Record] = (Record(),),
    *,
    after_read: Callable[[bytearray], None] | None = None,
    **fields: int,
) -> Guest:
    """Return a guest with a table of records; `fields` are those of memory_with_vcpus()."""
    memory = memory_with_vcpus(records, **fields)
    return TracedGuest(content=memory, after_read=after_read).guest()


def put(memory: bytearray, place: int, record: Record) -> None:
    at = TABLE + HEADER_BYTES + place * RECORD_BYTES
    memory[at : at + RECORD_BYTES] = record.packed()


def test_counters() -> None:
    found = read_vcpus(guest([FREE, Record(), Record(kind=2, name=b"")]))
    assert [(each.id, each.title, each.policy) for each in found] == [
        (2, "loop", "main"),
        (3, "VCPU 3", "io"),
    ]
    assert found[0] == VcpuCounters(
        2, 2, "loop", "main", 1_000_000, 10_000_000, 500_000_000, 20_010_000, 3_000_000, 4, 5,
        700_000, 60_000, 8_000,
    )  # fmt: skip
    assert found[0].promised == 0.1
    since_creation = shares_since_creation(found[0])
    assert since_creation is not None
    assert since_creation.received == pytest.approx(20_010 / 500_000)
    assert since_creation.background == pytest.approx(3_000 / 500_000)


def test_a_vcpu_that_has_just_begun_has_no_shares() -> None:
    (found,) = read_vcpus(guest([Record(received=0, background=0)], until=500_000))
    assert found.age_ns == 0
    assert shares_since_creation(found) is None


@pytest.mark.parametrize(
    ("received", "background", "until", "wanted"),
    [
        (120_010, 53_000, 2_000_000, (0.1, 0.05)),
        (20_010, 3_000, 1_000_000, (0, 0)),  # idle: the kernel accounts for no time
        (21_010, 3_000, 1_002_000, (0.001, 0)),  # idle after 2 ms
        (520_010, 3_000, 6_000_000, (0.1, 0)),  # idle for 4 s before the second
        (3_020_010, 1_003_000, 5_000_000, (0.75, 0.25)),
    ],
)
def test_shares_of_the_last_second(
    received: int, background: int, until: int, wanted: tuple[float, float]
) -> None:
    (before,) = read_vcpus(guest())
    grown = Record(received=received, background=background)
    (now,) = read_vcpus(guest([grown], until=until))
    assert continues(now, before)
    found = shares_since(before, now, SECOND_NS)
    assert found is not None
    assert (found.received, found.background) == pytest.approx(wanted)


def test_shares_add_up_to_1_at_most() -> None:
    """A budget of 2 s ends within a second, or the guest writes any numbers."""
    (before,) = read_vcpus(guest())
    now = replace(before, received_ns=before.received_ns + 2 * SECOND_NS)
    assert shares_since(before, now, SECOND_NS) == Shares(1, 0)
    now = replace(now, background_ns=before.background_ns + 2 * SECOND_NS)
    assert shares_since(before, now, SECOND_NS) == Shares(0.5, 0.5)
    assert shares_since_creation(replace(before, age_ns=0, background_ns=0)) == Shares(1, 0)


def test_counters_that_began_again() -> None:
    (before,) = read_vcpus(guest())
    assert continues(before, before)
    assert not continues(replace(before, sequence=4), before)  # another VCPU, or other parameters
    assert not continues(replace(before, age_ns=before.age_ns - 1), before)  # the guest restarted


@pytest.mark.parametrize(
    "counter",
    [
        "received_ns",
        "background_ns",
        "exhaustions",
        "deadline_misses",
        "response_max_ns",
        "blocking_max_ns",
        "unpaid_ns",
    ],
)
def test_a_smaller_counter_began_again(counter: str) -> None:
    (before,) = read_vcpus(guest())
    now = replace(before, age_ns=before.age_ns + SECOND_NS)
    assert continues(now, before)
    assert not continues(replace(now, **{counter: getattr(now, counter) - 1}), before)


def test_guests_without_vcpus() -> None:
    assert read_vcpus(guest([])) == []
    assert read_vcpus(TracedGuest().guest()) == []  # a trace only
    assert read_vcpus(TracedGuest(locator_magic=0).guest()) == []


def test_a_vcpu_that_changes_while_it_is_read() -> None:
    """The first copies of the table are of a record that the kernel writes."""
    reads = 0

    def write(memory: bytearray) -> None:
        nonlocal reads
        reads += 1
        if reads == 4:  # after the locator, the directory, its list, and the first copy
            put(memory, 0, Record(sequence=3, name=b"half", budget=1, received=0))
        if reads == 6:
            put(memory, 0, Record(sequence=4, name=b"whole", received=0))

    (found,) = read_vcpus(guest(after_read=write))
    assert (found.name, found.received_ns) == ("whole", 0)
    assert reads > 7


def test_counters_that_begin_again_while_they_are_read() -> None:
    """The record has the same parameters, and smaller counters."""
    reads = 0

    def write(memory: bytearray) -> None:
        nonlocal reads
        reads += 1
        if reads == 4:
            put(memory, 0, Record(received=0))

    (found,) = read_vcpus(guest(after_read=write))
    assert found.received_ns == 0
    assert reads == 6  # one copy more


def test_a_table_that_changes_all_the_time() -> None:
    def write(memory: bytearray) -> None:
        memory[TABLE + HEADER_BYTES] ^= 2

    with pytest.raises(UserError, match="the VCPUs of partition 'net' change all the time"):
        read_vcpus(guest(after_read=write))
    with pytest.raises(UserError, match="change all the time"):
        read_vcpus(guest([Record(sequence=1)]))


def test_names_are_harmless() -> None:
    (found,) = read_vcpus(guest([Record(name=b"\x1b[31mx\n")]))
    assert found.name == "?[31mx?"
    (found,) = read_vcpus(guest([Record(name=b"\xc3\xa9\x7f\x9b" + 12 * b"x")]))  # no end
    assert found.name == "????xxxxxxxxxxxx"
    (found,) = read_vcpus(guest([Record(name=b"  ")]))
    assert found.title == "VCPU 1"


@pytest.mark.parametrize(
    ("damaged", "line"),
    [
        (guest(table_bytes=8), "a table of VCPUs of 8 bytes"),
        (guest(table_bytes=1 << 20), "exceeds its memory"),
        (guest(table_bytes=1 << 19), "damaged: a table of VCPUs of 524288 bytes"),
        (
            guest(count=257, table_bytes=TOO_LARGE),
            f"damaged: a table of VCPUs of {TOO_LARGE} bytes",
        ),
        (
            guest(count=COUNT + 1),
            f"{COUNT + 1} records of {RECORD_BYTES} bytes in a table of VCPUs of "
            f"{HEADER_BYTES + COUNT * RECORD_BYTES} bytes",
        ),
        (guest(count=1 << 31), f"2147483648 records of {RECORD_BYTES} bytes"),
        (
            guest(count=2 * COUNT, record_bytes=RECORD_BYTES // 2),
            f"{2 * COUNT} records of {RECORD_BYTES // 2} bytes",
        ),
        (guest(record_bytes=0), "4 records of 0 bytes"),
        (guest(frequency=0), "a counter of 0 Hz"),
        (guest([Record(kind=7)]), "VCPU 1 is of kind 7, with 1000 of 10000 ticks"),
        (guest([Record(budget=0)]), "VCPU 1 is of kind 1, with 0 of 10000 ticks"),
        (guest([Record(budget=10_001)]), "with 10001 of 10000 ticks"),
        (guest([Record(period=1 << 41)]), "of 2199023255552 ticks"),
        (guest([Record(received=1 << 63)]), "VCPU 1 executed 9223372036854775808"),
        (guest([Record(since=1 << 63, received=1 << 40)]), "ticks in 0"),
        (
            guest([Record(response_max=1 << 40)]),
            "had a response of 1099511627776 ticks, and waited",
        ),
        (guest([Record(exhaustions=1 << 40)]), "VCPU 1 ran out 1099511627776 times"),
    ],
)
def test_damage_is_one_line(damaged: Guest, line: str) -> None:
    with pytest.raises(UserError) as error:
        read_vcpus(damaged)
    assert line in str(error.value)
    assert "the reports of partition 'net' are damaged" in str(error.value)
    assert "\n" not in str(error.value)


def test_another_version() -> None:
    with pytest.raises(UserError, match=r"have the layout 3, not 2; use the command that"):
        read_vcpus(guest(version=3))


def test_random_damage_is_one_line() -> None:
    chance = random.Random(1)
    lines = []
    for _ in range(300):
        memory = memory_with_vcpus([Record()])
        for _ in range(chance.randint(1, 8)):
            memory[TABLE + HEADER_BYTES + chance.randrange(RECORD_BYTES)] = chance.randrange(256)
        try:
            read_vcpus(TracedGuest(content=memory).guest())
        except UserError as error:
            lines.append(str(error))
    assert len(lines) > 100
    assert not any("\n" in line for line in lines)
