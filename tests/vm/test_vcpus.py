# SPDX-License-Identifier: BSD-2-Clause
"""VCPUs on a machine: the schedules of the paper, the boot argument, and the demo's status.

Under QEMU's -icount the guest's time is the number of its instructions, so the schedules are the
same on any machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from support.demos import Demos, FindImage, pattern

from bulkhead.building.build import guest_image
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine

StartGuest = Callable[..., GuestProcess]

UNITS = 114
# Nanoseconds of a unit of 1 ms that may go to the kernel, or to the neighbour in the schedule.
OVERHEAD_NS = 10_000

# Three CPU-bound VCPUs (1, 4), (2, 8) and (8, 16).
FIGURE_6 = ("0112022201120222" * 8)[:UNITS]
# Schedule (A) of Figure 7. Schedule (B), the POSIX server's, gives VCPU 1 46 of 100 units.
FIGURE_7 = (
    "1" + "0" * 10 + "1" * 17 + "I" * 2 + "." * 10 + "1" + "0" * 10 + "1" * 17 + "." * 10
    + "I" * 2 + "1" + "0" * 10 + "1" * 3 + "." * 6 + "1" * 14
)  # fmt: skip


@pytest.mark.parametrize(("figure", "expected"), [(6, FIGURE_6), (7, FIGURE_7)])
def test_schedule(start_guest: StartGuest, compiler: str, figure: int, expected: str) -> None:
    image = guest_image("schedule", compiler)
    words = ["exit=semihosting", f"figure={figure}"]
    guest = start_guest(Machine(image, words, icount=True))
    assert guest.wait(120) == 0, guest.last_words()
    console = guest.console()
    schedule = re.search(r"^schedule: ([012I.]+)$", console, re.MULTILINE)
    smallest = re.search(r"^schedule: each unit at least (\d+) ns$", console, re.MULTILINE)
    assert schedule is not None
    assert smallest is not None
    assert schedule[1] == expected
    assert int(smallest[1]) > 1_000_000 - OVERHEAD_NS


def test_figure_7_is_not_schedule_b() -> None:
    assert FIGURE_7[:100].count("1") == 40


@pytest.mark.parametrize(
    ("vcpus", "line"),
    [
        (
            "x:main:3ms/1ms",
            "boot: no VCPUs: boot argument vcpus, character 8: the budget is above the period",
        ),
        (
            "a:main:100us/1ms,b:main:950us/1ms",
            "boot: no VCPUs: with b, b would lack 50000 ns in each of its periods",
        ),
        (
            "a:main:600us/2ms,b:main:750us/1ms",
            "boot: no VCPUs: with b, a would lack 100000 ns in each of its periods",
        ),
    ],
)
def test_refused_boot_argument(start_guest: StartGuest, vcpus: str, line: str) -> None:
    # With icount, because the least budget is four times what an end of it takes on this machine.
    words = ["exit=semihosting", f"vcpus={vcpus}"]
    guest = start_guest(Machine(guest_image("boot", "gcc"), words, icount=True))
    assert guest.wait(60) == 0
    assert line in guest.console().splitlines()


def test_refused_small_budget(start_guest: StartGuest) -> None:
    """A budget that is not worth its switches is refused with the least one."""
    words = ["exit=semihosting", "vcpus=x:main:100us/1ms,y:main:1us/1ms"]
    guest = start_guest(Machine(guest_image("boot", "gcc"), words, icount=True))
    assert guest.wait(60) == 0
    refusal = re.search(
        r"^boot: no VCPUs: the budget of y is below (\d+) ns", guest.console(), re.M
    )
    assert refusal is not None
    assert 1000 < int(refusal[1]) < 6000


# Kind, VCPUs, budget and period in microseconds, nanoseconds of sleep (bench/vcpu/guest/attack.c).
ATTACKS = (
    "sleep/5/6/100/1000", "post/5/6/100/0", "interrupt/5/6/100/1000", "callback/8/4/100/700",
)  # fmt: skip
MORE_ATTACKS = (
    "sleep/31/10/1000/200", "sleep/31/10/1000/100000", "sleep/1/30/100/1000",
    "sleep/7/40/1000/20000", "posting/5/6/100/1000", "callback/31/10/1000/1000",
    "condition/5/6/100/0", "yield/31/10/1000/0", "pieces/5/6/100/0", "pieces/31/10/1000/0",
)  # fmt: skip


@pytest.mark.parametrize(
    ("attacks", "milliseconds"),
    [(ATTACKS, 20), pytest.param(MORE_ATTACKS, 200, marks=pytest.mark.long)],
)
def test_work_lost(start_guest: StartGuest, attacks: tuple[str, ...], milliseconds: int) -> None:
    """VCPUs that wake up as often as they can take no work from a victim with a longer period."""
    words = ["exit=semihosting", "case=attacks", f"milliseconds={milliseconds}"]
    words.append(f"attacks={','.join(attacks)}")
    cpu = f"{Machine.cpu},cntfrq=1000000000"
    guest = start_guest(Machine(guest_image("vcpu-bench"), words, cpu=cpu, icount=True))
    assert guest.wait(240) == 0, guest.last_words()
    alone, *attacked = map(int, re.findall(r"attack \w+ turns (\d+)", guest.console()))
    assert len(attacked) == len(attacks)
    assert min(attacked) >= 0.999 * alone, (alone, attacked)


@pytest.fixture
def demos(start_guest: StartGuest, image: FindImage) -> Demos:
    return Demos(start_guest, image)


def test_status_of_the_demo(demos: Demos) -> None:
    """The services get 1 % of the processor, which does not suffice for an echo of megabytes."""
    vcpus = "frames:io:30ms/100ms:net-bottom-half,timers:main:1ms/10ms:network"
    client = demos.user(arguments=(f"vcpus={vcpus},services:main:1ms/100ms:*",))
    status = client.status()
    start = {each["name"]: each for each in status["vcpus"]}
    data = pattern(3_000_000)
    deadline = time.monotonic() + 60
    while status["vcpus"][2]["exhaustions"] < start["services"]["exhaustions"] + 5:
        assert time.monotonic() < deadline, status["vcpus"]
        assert client.echo(data) == data
        status = client.status()
    assert status["vcpu_count"] == 3
    parameters = [
        (each["id"], each["name"], each["policy"], each["budget_ns"], each["period_ns"])
        for each in status["vcpus"]
    ]
    assert parameters == [
        (1, "frames", "io", 30_000_000, 100_000_000),
        (2, "timers", "main", 1_000_000, 10_000_000),
        (3, "services", "main", 1_000_000, 100_000_000),
    ]
    frames, timers, services = status["vcpus"]
    for each in (frames, timers, services):
        assert start[each["name"]]["age_ns"] < each["age_ns"] <= status["uptime_ns"]
        assert 0 < each["response_max_ns"] <= each["age_ns"]
        assert 0 <= each["blocking_max_ns"] <= each["age_ns"]
        assert each["deadline_misses"] == 0
        assert each["threads"] >= 1
    assert frames["received_ns"] > start["frames"]["received_ns"]
    assert services["background_ns"] > services["received_ns"] > 0
    assert 0 < status["vcpu_unpaid_ns"] < status["uptime_ns"]
    # The VCPUs account for the threads' time, and for that of the interrupts that wake them.
    used = sum(each["received_ns"] + each["background_ns"] for each in status["vcpus"])
    threads = status["scheduler"]["threads"]
    ran = sum(each["run_ns"] for each in threads if each["name"] != "idle")
    assert 0.9 * ran < used < status["uptime_ns"]


def test_status_without_vcpus(demos: Demos) -> None:
    status = demos.user().status()
    assert (status["vcpu_count"], status["vcpus"]) == (0, [])
