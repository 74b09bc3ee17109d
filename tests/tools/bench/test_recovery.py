# SPDX-License-Identifier: BSD-2-Clause
"""The bench recovery: the options of its plugin, and the figures from the plugin's output."""

from __future__ import annotations

from pathlib import Path

from bulkhead.measuring import bench

recovery = bench.load("recovery")

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
    option = recovery.plugin_option(
        Path("/x,y/phases.so"), Path("/image"), 0x40200000, [0x10, 0x20], [0x30], Path("/log")
    )
    assert option == (
        "/x,,y/phases.so,text=/image,at=0x40200000,word=0x10,word=0x20,mark=0x30,log=/log"
    )


def test_phases_of_a_restart() -> None:
    (found,) = recovery.parse_restarts(_START + _RESTART, 2)
    assert found.phases == _PHASES
    assert list(found.phases) == list(_PHASES)
    assert found.instructions == 7000


def test_without_marks_of_a_kernel() -> None:
    (found,) = recovery.parse_restarts(_START + _RESTART, 0)
    assert found.instructions == 5440


def test_what_is_incomplete_is_no_restart() -> None:
    assert list(recovery.parse_restarts("", 2)) == []
    assert list(recovery.parse_restarts(_START, 2)) == []
    lines = (_START + _RESTART).splitlines(keepends=True)
    for count in range(len(lines)):
        assert list(recovery.parse_restarts("".join(lines[:count]), 2)) == []
    assert list(recovery.parse_restarts((_START + _RESTART)[:-1], 2)) == []


def _life(at: int, tick: int, end: int) -> str:
    return (
        "net| boot: first thread after 300 ns\r\n"
        f"net| recovery: at {at} ns and tick {tick} of 1000000000 a second, "
        f"resets at tick {end}\r\n"
    )


def test_time_of_a_restart() -> None:
    console = _life(500, 9000, 20_000) + _life(450, 1_020_150, 2_000_000)
    assert recovery.restart_ms(console) == 1.0
    console += _life(450, 4_000_150, 5_000_000)
    assert recovery.restart_ms(console) == 1.0
