# SPDX-License-Identifier: BSD-2-Clause
"""The plot of the level control in Chromium: it goes on after a restart of each partition.

Controllers of the test, which are processes, also end, send nothing or send no numbers. The page is
apps/level/plot/page.html.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.browser import Browser
from support.page_checks import check_icon, check_layout, keep_picture, without_failed_loads
from support.python_package import start
from support.written_system import StartGuest

from bulkhead.paths import ROOT
from bulkhead.running.guest import GuestProcess
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

pytestmark = pytest.mark.long
_NEXT_PARTITION, _STOP, _RESTART = "\x1d", "\x1es", "\x1er"  # Ctrl-], Ctrl-^ s, Ctrl-^ r
_BOOT_S = 240
_SERVES = r"(?m)^linux\| .*plot: serves the records of plot"
_LIVE = "^live"
_NO_ANSWER = r"^no answer from Linux \(\d+ s\)$"
_NO_CONTROLLER = r"^the controller has ended, or restarts \(\d+ s\)$"
_NO_SAMPLE = r"^no record: the sensor has probably ended, or restarts \(\d+ s\)$"
# Counts the points of a canvas that have the colour of a variable of CSS.
_POINTS = """(id, variable) => {
  const canvas = document.getElementById(id), root = getComputedStyle(document.documentElement);
  const copy = document.createElement("canvas"), {width, height} = canvas;
  copy.width = width;
  copy.height = height + 1;
  const context = copy.getContext("2d", {willReadFrequently: true});
  context.drawImage(canvas, 0, 1);
  context.fillStyle = root.getPropertyValue(variable);
  context.fillRect(0, 0, 1, 1);
  const wanted = context.getImageData(0, 0, 1, 1).data.slice(0, 3).join();
  const all = context.getImageData(0, 1, width, height).data;
  let count = 0;
  for (let i = 0; i < all.length; i += 4) count += all.slice(i, i + 3).join() === wanted;
  return count;
}"""
# A controller with 100 records a second, and commands that a test types.
_CONTROLLER = """
import select, struct, sys, time
from bulkhead_channel import Channel

number, level, is_silent = 0, 0.3, False
with Channel("./c", end=1) as channel:
    print("ready", flush=True)
    while True:
        while select.select([sys.stdin], [], [], 0)[0]:
            word = sys.stdin.readline().strip()
            level = float("nan") if word == "nan" else 0.3
            is_silent = word == "silent"
        time.sleep(0.01)
        if is_silent:
            continue
        number += 1
        fields = [number, number * 10**7, 1, number, 0.3, level, 0.5, 10**6, 0, 10**7]
        record = struct.pack("<4Q3d3Q", *fields)
        try:
            channel.send(record, 2, timeout=0)
            while True:
                channel.receive(timeout=0)
        except (TimeoutError, EOFError):
            pass
"""


def see_curve(browser: Browser, name: str) -> None:
    """Wait until a canvas has a curve of some length."""
    browser.wait_for(f"({_POINTS})('{name}', '--one') > 50")


def goes_on(browser: Browser) -> None:
    """Wait until at least a second of new records was drawn."""
    browser.wait_for_text("#live", _LIVE)
    number = browser.value("records.at(-1)[NUMBER]")
    browser.wait_for(f"records.at(-1)[NUMBER] > {number} + 100")
    browser.wait_for("!hasChanged")
    see_curve(browser, "levels")


@pytest.mark.timeout(1200)
def test_the_plot_of_the_level_control(start_guest: StartGuest, browser: Browser) -> None:
    system, board = read("channels")
    image = assemble(system, board, Settings()).image
    (port,) = free_ports(1)
    guest = start_guest(machine(system, board, image, lambda _: UserNetwork([Forward(80, port)])))
    guest.wait_for_next_match(_SERVES, _BOOT_S)
    browser.open(f"http://127.0.0.1:{port}/")
    goes_on(browser)
    see_curve(browser, "commands")
    see_curve(browser, "latencies")
    level = browser.text("#level")
    browser.wait_for(f"document.getElementById('level').textContent !== {level!r}")
    check_icon(browser)
    browser.wait_for("records.length > 2000")
    check_layout(browser, "plot")
    choose(browser, 10)
    browser.wait_for("records.at(-1)[SETPOINT] === .1")
    assert browser.take_messages() == []

    restart_sensor(guest, browser)
    restart_controller(guest, browser)
    assert browser.take_messages() == []
    restart_linux(guest, browser)
    assert without_failed_loads(browser.take_messages(), "/records") == []


def choose(browser: Browser, centimetres: int) -> None:
    """Move the slider."""
    browser.value(f"slider.value = {centimetres}, slider.dispatchEvent(new Event('change'))")
    browser.wait_for_text("#chosen", f"^{centimetres} cm$")


def restart_sensor(guest: GuestProcess, browser: Browser) -> None:
    life = browser.value("records.at(-1)[LIFE]")
    guest.type_text(_NEXT_PARTITION + _RESTART)  # Linux has the keyboard; the sensor is next
    browser.wait_for(f"records.at(-1)[LIFE] > {life}")
    goes_on(browser)
    keep_picture(browser, "plot-sensor-restarted")
    guest.type_text(_STOP)
    browser.wait_for_text("#live", _NO_SAMPLE)
    keep_picture(browser, "plot-sensor-stopped")
    guest.type_text(_RESTART)
    goes_on(browser)


def restart_controller(guest: GuestProcess, browser: Browser) -> None:
    number = browser.value("records.at(-1)[NUMBER]")
    guest.type_text(_NEXT_PARTITION + _RESTART)
    browser.wait_for(f"records.at(-1)[NUMBER] < {number}")
    goes_on(browser)
    # The next life has the setpoint that was chosen in an earlier one.
    browser.wait_for("records.at(-1)[SETPOINT] === .1")
    guest.type_text(_STOP)
    browser.wait_for_text("#live", _NO_CONTROLLER)
    keep_picture(browser, "plot-controller-stopped")
    guest.type_text(_RESTART)
    browser.wait_for_text("#live", "^live, with a new life of the controller$")
    goes_on(browser)


def restart_linux(guest: GuestProcess, browser: Browser) -> None:
    guest.type_text(_NEXT_PARTITION + _STOP)
    browser.wait_for_text("#live", _NO_ANSWER)
    keep_picture(browser, "plot-linux-stopped")
    browser.value("choose(20, '20 cm')")
    assert browser.text("#chosen") == "not sent: no answer from Linux"
    guest.type_text(_RESTART)
    guest.wait_for_next_match(_SERVES, _BOOT_S)
    goes_on(browser)
    choose(browser, 20)
    browser.wait_for("records.at(-1)[SETPOINT] === .2")
    keep_picture(browser, "plot-linux-restarted")


@contextmanager
def process(package: Path, folder: Path, script: str) -> Iterator[subprocess.Popen[str]]:
    """Start a program, and kill it at the end."""
    started = start(package, folder, script, stdin=subprocess.PIPE)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def tell(controller: subprocess.Popen[str], word: str) -> None:
    assert controller.stdin is not None
    controller.stdin.write(f"{word}\n")
    controller.stdin.flush()


@pytest.mark.timeout(300)
def test_ends_of_the_server_and_of_the_controller(
    package: Path, tmp_path: Path, browser: Browser
) -> None:
    (port,) = free_ports(1)
    folder = str(ROOT / "apps/level/plot")
    plot = f"import sys; sys.path.append({folder!r}); import plot; plot.main('./c', '{port}')"
    with process(package, tmp_path, _CONTROLLER) as controller:
        with process(package, tmp_path, plot) as server:
            assert server.stdout is not None
            assert "serves the records" in server.stdout.readline()
            browser.open(f"http://127.0.0.1:{port}/")
            goes_on(browser)
            tell(controller, "nan")
            browser.wait_for_text("#live", _NO_SAMPLE)
            tell(controller, "numbers")
            goes_on(browser)
            tell(controller, "silent")
            browser.wait_for_text("#live", _NO_SAMPLE)
            controller.kill()
            browser.wait_for_text("#live", _NO_CONTROLLER)
            assert browser.take_messages() == []
        browser.wait_for_text("#live", _NO_ANSWER)
    with process(package, tmp_path, _CONTROLLER), process(package, tmp_path, plot):
        goes_on(browser)
        assert browser.value("records[0][NUMBER]") < 100
    assert without_failed_loads(browser.take_messages(), "/records") == []
