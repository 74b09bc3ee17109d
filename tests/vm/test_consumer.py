# SPDX-License-Identifier: BSD-2-Clause
"""The system `consumer`: a media player and Linux share two cores, beside a control loop.

The player loses no period, its tone is in the file of the sound device, and the loop has no exits
meanwhile.

The machine counts instructions, and the sound device has the same clock.
"""

from __future__ import annotations

import array
import itertools
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.written_system import StartGuest, reports

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_PLAYING = r"(?m)^media\| player: {} periods played, 0 lost$"
_WAV_HEADER_BYTES, _WAV_RATE, _CHANNELS = 44, 44100, 2  # QEMU's, whatever the guest's rate is
_TONE_HZ, _AMPLITUDE = 440, 8000  # the system's; apps/player/tone.c
_LOOP_CORE = 2


@pytest.mark.timeout(900)
@pytest.mark.parametrize("periods", [1000, pytest.param(1500, marks=pytest.mark.long)])
def test_consumer(start_guest: StartGuest, tmp_path: Path, periods: int) -> None:
    """More than 10 s: Linux boots, and sounds last as long as they are."""
    system, board = read("consumer")
    assembled = assemble(system, board, Settings())
    wav = tmp_path / "sound.wav"
    made = machine(system, board, assembled.image, lambda _: UserNetwork(), wav=wav)
    guest = start_guest(replace(made, icount=True))
    guest.wait_for_match(r"(?m)^linux\| .*linux: ready", 400)
    guest.wait_for_match(_PLAYING.format(500), 400)

    def exits() -> dict[str, int]:
        """Return the exits of the loop's core, but those of the lines that it prints."""
        (loop,) = (each for each in reports(guest, assembled.layout) if each.core == _LOOP_CORE)
        return loop.exits | {"console": 0}

    before = exits()
    guest.wait_for_match(_PLAYING.format(periods), 400)
    assert exits() == before
    assert before["interrupt"] == before["listed"] == before["fault"] == 0
    assert "loop| control: a period of 1000000 ns" in guest.console()
    guest.qmp().execute("stop")
    hertz, amplitude = tone(wav.read_bytes()[_WAV_HEADER_BYTES:])
    assert hertz == pytest.approx(_TONE_HZ, rel=0.01)
    assert amplitude == pytest.approx(_AMPLITUDE, rel=0.05)


def tone(content: bytes) -> tuple[float, float]:
    """Return frequency and amplitude of the last second: the crossings of 0 and the energy."""
    samples = array.array("h", content[: len(content) // 4 * 4])
    if sys.byteorder == "big":
        samples.byteswap()
    left = samples[::_CHANNELS][-_WAV_RATE:]
    assert len(left) == _WAV_RATE, "the file has less than a second of sound"
    rising = sum(1 for one, next_ in itertools.pairwise(left) if one < 0 <= next_)
    return rising, math.sqrt(2 * sum(each * each for each in left) / len(left))
