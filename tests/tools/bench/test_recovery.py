# SPDX-License-Identifier: BSD-2-Clause
"""The bench recovery: the options of its plugins, and the figures from what it observes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from bench.recovery import commit, gap, httperf, isolation, restart
from bench.recovery.clients import PAGE, Outcome, Request, judge, rates
from bench.recovery.gap import Gap, Load
from bench.recovery.httperf import Counts, Found
from bench.recovery.isolation import Received

from bulkhead.paths import BENCHES
from bulkhead.running.guest import GuestError

# The first start, which is no restart.
_START = """left 0 6
word 0 100
word 0 110
word 0 120
word 0 130
word 0 140
word 0 150
word 0 160
word 1 170
word 1 180
word 1 190
word 0 200
word 0 210
mark 0 220
mark 1 230
mark 2 240
"""
# The words are cleared by stores of their own before the first phase.
_RESTART = """left 0 1000
word 0 1009
word 1 1009
word 0 1010
word 0 1030
word 0 1060
word 0 1100
word 0 1150
word 0 1210
word 1 5210
word 1 6210
word 1 6310
word 0 6330
word 0 6430
mark 0 6440
mark 1 6940
mark 2 8000
"""
_PHASES = {
    "stop": 9,
    "block": 21,
    "events": 30,
    "reset": 40,
    "interrupts": 50,
    "channels": 60,
    "zero": 4000,
    "copy": 1000,
    "seed": 100,
    "load": 20,
    "permit": 100,
    "start": 10,
    "image": 500,
    "kernel": 1060,
}


def test_options_of_the_plugin() -> None:
    option = restart.plugin_option(
        Path("/x,y/phases.so"), Path("/image"), 0x40200000, [0x10, 0x20], [0x30], Path("/log")
    )
    assert option == (
        "/x,,y/phases.so,text=/image,at=0x40200000,word=0x10,word=0x20,mark=0x30,log=/log"
    )


def test_phases_of_a_restart() -> None:
    (found,) = restart.parse_restarts(_START + _RESTART, 2)
    assert found.phases == _PHASES
    assert list(found.phases) == list(_PHASES)
    assert found.instructions == 7000


def test_without_marks_of_a_kernel() -> None:
    (found,) = restart.parse_restarts(_START + _RESTART, 0)
    assert found.instructions == 5440


def test_what_is_incomplete_is_no_restart() -> None:
    assert list(restart.parse_restarts("", 2)) == []
    assert list(restart.parse_restarts(_START, 2)) == []
    lines = (_START + _RESTART).splitlines(keepends=True)
    for count in range(len(lines)):
        assert list(restart.parse_restarts("".join(lines[:count]), 2)) == []
    assert list(restart.parse_restarts((_START + _RESTART)[:-1], 2)) == []


def _life(at: int, tick: int, end: int) -> str:
    return (
        "net| boot: first thread after 300 ns\r\n"
        f"net| recovery: at {at} ns and tick {tick} of 1000000000 a second, "
        f"resets at tick {end}\r\n"
    )


def test_time_of_a_restart() -> None:
    console = _life(500, 9000, 20_000) + _life(450, 1_020_150, 2_000_000)
    assert restart.restart_ms(console) == 1.0
    console += _life(450, 4_000_150, 5_000_000)
    assert restart.restart_ms(console) == 1.0


_PAGE_PROGRAM = """#include "page.h"
#include <stdio.h>
int main(void)
{
    for (uint32_t i = 0; i < PAGE_LENGTH; i++) {
        putchar(page_letter(i));
    }
    return 0;
}
"""


def test_the_page_is_the_same_in_c_and_python(tmp_path: Path) -> None:
    program = tmp_path / "page"
    command = ["gcc", "-x", "c", "-", "-I", str(BENCHES / "recovery"), "-o", str(program)]
    subprocess.run(command, input=_PAGE_PROGRAM.encode(), check=True)
    assert subprocess.run([program], capture_output=True, check=True).stdout == PAGE


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n" + PAGE, Outcome.WHOLE),
        (b"HTTP/1.0 200 OK\r\n\r\n" + PAGE, Outcome.WHOLE),
        (b"HTTP/1.1 503 No\r\n\r\n" + PAGE, Outcome.WRONG),
        (b"HTTP/1.1 200 OK\r\n\r\n" + PAGE + b"a", Outcome.WRONG),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"b" + PAGE[1:], Outcome.WRONG),
        (b"HTTP/1.1 200 OK\r\n\r\n" + PAGE[:-1], Outcome.FAILED),
        (b"HTTP/1.1 200 OK\r\n", Outcome.FAILED),
        (b"", Outcome.FAILED),
    ],
)
def test_an_answer_is_compared_byte_by_byte(answer: bytes, outcome: Outcome) -> None:
    assert judge(answer) is outcome


def test_rates_of_requests_and_replies() -> None:
    requests = [
        Request(0.1, 0.2, Outcome.WHOLE),
        Request(0.4, 0.6, Outcome.WHOLE),
        Request(0.7, 0.8, Outcome.RESET),
    ]
    asked, replied = rates(requests, 0.5)
    assert asked == [(0.25, 4.0), (0.75, 2.0)]
    assert replied == [(0.25, 2.0), (0.75, 2.0)]


_ASKED = (
    "client| asker: fault 1 at 99 ns: gap 4500000 ns, wait 5500000 ns, 50 replies, 0 wrong, "
    "0 failed\n"
    "client| asker: fault 2 at 1234 ns: gap 9500000 ns, wait 200000000 ns, 51 replies, 1 wrong, "
    "2 failed\n"
    "client| asker: done\n"
)


def test_gaps_of_a_client() -> None:
    gaps = gap.parse_gaps(_ASKED)
    assert gaps == [Gap(4_500_000, 5_500_000, 50, 0, 0), Gap(9_500_000, 200_000_000, 51, 1, 2)]
    load, one = Load(8, "keep"), Load(1, "keep")
    summary = gap.summarise({(gap.KEPT, load): gaps, (gap.KEPT, one): gaps[:1]})
    first = {name: value for name, value in summary.items() if "kept" not in name}
    assert first == {
        "gap_ms_local": 9.5,
        "gap_ms_local_median": 7.0,
        "wait_ms_local": 200.0,
        "wait_ms_local_median": 102.75,
        "gap_failed_local": 3,
    }
    assert summary["gap_ms_local_kept_1_keep"] == 4.5
    assert summary["gap_failed_local_kept_1_keep"] == 0
    remote = gap.summarise({(gap.STANDBY, load): gaps, (gap.STANDBY, one): gaps[:1]})
    assert list(remote) == [
        name.replace("local", "remote").replace("kept", "standby") for name in summary
    ]
    assert list(remote.values()) == list(summary.values())


@pytest.mark.parametrize(
    ("server", "line"),
    [
        (gap.KEPT, "server restarts"),
        (gap.STANDBY, "server restarts: its standby gets its devices"),
        (gap.STANDBY, "server2 restarts: its standby gets its devices"),
    ],
)
def test_lines_of_recoveries(server: gap.Server, line: str) -> None:
    assert re.fullmatch(server.recovers, line)
    other = gap.STANDBY if server is gap.KEPT else gap.KEPT
    assert re.fullmatch(other.recovers, line) is None
    in_place = "server restarts with its devices: its standby does not execute, or has them"
    assert re.fullmatch(server.recovers, in_place) is None


def test_instructions_of_requests() -> None:
    lines = "".join(f"{1000 * number}\n" for number in range(150)) + "150500\n"
    assert commit.median_of_requests(lines) == 1000
    with pytest.raises(GuestError, match="has seen 2 requests"):
        commit.median_of_requests("5\n9\n")
    summary = commit.summarise({"close": (90.0, 100.0), "keep": (103.0, 100.0)})
    assert summary["commit_cost"] == 1.03
    assert summary["commit_cost_close"] == 0.9
    option = commit.plugin_option(Path("/x,y/r.so"), 0x40, 0x80, 0x44, Path("/log"))
    assert option == "/x,,y/r.so,from=0x40,to=0x80,mark=0x44,log=/log"


_HTTPERF = """Total: connections 1200 requests 1190 replies 1188 test-duration 9.998 s

Reply status: 1xx=0 2xx=1180 3xx=0 4xx=0 5xx=8

Errors: total 12 client-timo 2 socket-timo 0 connrefused 0 connreset 10
Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 0
"""


def test_report_of_httperf() -> None:
    counts = httperf.parse_httperf(_HTTPERF, 1200)
    assert counts == Counts(1200, 1180, 12, 10)
    assert counts.failed == 20
    with pytest.raises(GuestError, match="httperf has not reported: no such host"):
        httperf.parse_httperf("no such host\n", 1)


def test_figures_of_servers_under_httperf() -> None:
    requests = [Request(0.0, 1.0, outcome) for outcome in Outcome]
    summary = httperf.summarise(
        {
            "kept": Found(100, Counts(10, 10, 0, 0), requests[:1]),
            "linux": Found(3, Counts(10, 7, 3, 2), requests),
        }
    )
    kept = ("failed_requests", "connections_reset", "wrong_bytes", "failed_comparing")
    assert [summary[name] for name in kept] == [0, 0, 0, 0]
    assert [summary[f"{name}_linux"] for name in kept] == [3, 3, 1, 3]
    assert (summary["httperf_faults"], summary["httperf_faults_linux"]) == (100, 3)


def test_messages_of_sandboxes() -> None:
    text = """sandbox0| sandbox: received 2 at 1000000 us
bulkhead| sandbox0 restarts
sandbox2| sandbox: received 16 at 1000000 us
"""
    found = isolation.parse_received(text)
    assert found == [Received(1.0, "sandbox0", 2), Received(1.0, "sandbox2", 16)]
    found += [Received(1.1, "sandbox0", 2), Received(1.5, "sandbox0", 4)]
    found += [Received(1.8, "sandbox2", 16), Received(2.0, "sandbox3", 20)]
    found += [Received(3.0, "sandbox3", 19), Received(2.6, "sandbox2", 15)]
    assert isolation.message_rates(found) == {
        "messages: sandbox0": [(1.5, pytest.approx(12))],
        "messages: sandbox2": [(1.8, pytest.approx(20)), (2.6, pytest.approx(18.75))],
        "messages: sandbox3": [(3.0, pytest.approx(19))],
    }
    summary = isolation.summarise(found, [0.1, 0.2, 0.5])
    assert summary["isolation_pause_s"] == pytest.approx(0.4)
    assert summary["isolation_echo_pause_s"] == pytest.approx(0.3)
    assert (summary["isolation_least_sandbox3"], summary["isolation_most_sandbox2"]) == (19, 16)


def test_echo_replies() -> None:
    text = "[1700000000.25] 64 bytes from 10.77.0.10: icmp_seq=1 ttl=255 time=0.4 ms\nno\n"
    assert isolation.parse_echoes(text) == [1_700_000_000.25]
    assert isolation.echo_rates([0.1, 0.2, 1.7, 9.0], 2.0) == [(0.5, 2.0), (1.5, 1.0)]
