# SPDX-License-Identifier: BSD-2-Clause
"""The status page of the demo in Chromium: values that move, and a guest that restarts or ends.

A server of the test also gives answers that lack fields, have texts with markup, or come late.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from support.browser import Browser
from support.page_checks import (
    check_icon,
    check_layout,
    keep_picture,
    without_failed_loads,
)
from support.status_server import StatusServer, sample
from support.written_system import StartGuest

from bulkhead.running.guest import GuestProcess
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

pytestmark = pytest.mark.long
_NEXT_PARTITION, _STOP, _RESTART = "\x1d", "\x1es", "\x1er"  # Ctrl-], Ctrl-^ s, Ctrl-^ r
_BOOT_S = 240
_READY = r"(?m)^net\| demo: http on 80"
_JSON = "/status.json"
# Words that a page shows only by mistake.
_MISTAKES = r"NaN|undefined|Infinity|null|\[object"
# Shows an answer once for each replacement of a field, and of each field inside of it. Lists those
# with which the page fails.
_SHOW_CHANGED = """(status, field, mistakes) => {
  const found = [], others = [undefined, null, "text", -1, 2 ** 63, [null], {}];
  const tryToShow = name => {
    try { take(JSON.parse(JSON.stringify(status))) } catch (e) { found.push(`${name}: ${e}`) }
    const mistake = document.body.innerText.match(RegExp(mistakes));
    if (mistake) found.push(`${name}: ${mistake}`);
  };
  const replace = (holder, key, path) => {
    const value = holder[key];
    for (const other of others) {
      holder[key] = other;
      tryToShow(`${path} = ${JSON.stringify(other)}`);
    }
    holder[key] = value;
    if (value !== null && typeof value === "object")
      for (const inner of Object.keys(value)) replace(value, inner, `${path}.${inner}`);
  };
  replace(status, field, field);
  return found;
}"""
_COUNTER = """(list, name) => {
  const row = [...document.querySelectorAll(`#${list} dt`)].find(dt => dt.textContent === name);
  return parseInt(row.nextSibling.textContent.replaceAll(",", ""));
}"""


def boot(start_guest: StartGuest, port: int) -> GuestProcess:
    system, board = read("demo")
    image = assemble(system, board, Settings()).image

    def network(number: int) -> Network:
        return UserNetwork([Forward(80, port)] if number == 0 else [])

    guest = start_guest(machine(system, board, image, network))
    guest.wait_for_match(r"(?m)^linux\| .*linux: ready", _BOOT_S)
    guest.wait_for_next_match(_READY, _BOOT_S)
    return guest


def counter(browser: Browser, list_: str, name: str) -> Callable[[], int]:
    """Return a function that reads the first number of a row."""
    return lambda: int(browser.call(_COUNTER, list_, name))


def is_drawn(browser: Browser) -> bool:
    """Return True if both curves have a line of three points."""
    points = "document.getElementById({!r}).getAttribute('d').split('L').length"
    return all(browser.value(points.format(name)) >= 3 for name in ("rxline", "txline"))


@pytest.mark.timeout(900)
def test_the_page_of_the_demo(start_guest: StartGuest, browser: Browser) -> None:
    (port,) = free_ports(1)
    guest = boot(start_guest, port)
    browser.open(f"http://127.0.0.1:{port}/")
    browser.wait_for_text("#live", "^live$")
    received = counter(browser, "driver", "frames received, sent")
    shown, uptime = received(), browser.text("#uptime")
    browser.wait_for("past.length >= 5")
    assert is_drawn(browser)
    assert received() > shown
    assert browser.text("#uptime") != uptime
    assert not re.search(_MISTAKES, browser.value("document.body.innerText"))
    check_icon(browser)
    check_layout(browser, "status")
    assert browser.take_messages() == []

    guest.type_text(2 * _NEXT_PARTITION + _RESTART)  # Linux has the keyboard; net is the second
    guest.wait_for_next_match(_READY, _BOOT_S)
    browser.wait_for_text("#live", "^live again after a restart$")
    assert browser.value("before.uptime_ns") < 60e9
    drawn = browser.value("past.length")
    browser.wait_for(f"past.length > {drawn} + 3")
    assert 0 <= float(browser.text("#busy").split()[0]) <= 100
    assert without_failed_loads(browser.take_messages(), _JSON) == []

    guest.type_text(_STOP)
    browser.wait_for_text("#live", r"^no answer for \d+ s$")
    browser.wait_for("document.body.className === 'old'")
    keep_picture(browser, "status-stopped")
    guest.type_text(_RESTART)
    guest.wait_for_next_match(_READY, _BOOT_S)
    browser.wait_for_text("#live", "^live again after a restart$")
    browser.wait_for("document.body.className === ''")
    # The curve has a gap where no answer came.
    browser.wait_for("document.getElementById('rxline').getAttribute('d').split('M').length > 2")
    keep_picture(browser, "status-restarted")
    assert without_failed_loads(browser.take_messages(), _JSON) == []
    assert browser.most_requests(f"http://127.0.0.1:{port}{_JSON}") == 1


@pytest.mark.timeout(300)
def test_a_server_that_dies_and_returns(browser: Browser) -> None:
    (port,) = free_ports(1)
    with StatusServer(port) as server:
        browser.open(server.url)
        browser.wait_for("past.length >= 3")
        browser.wait_for_text("#live", "^live$")
        assert browser.take_messages() == []
        server.stop()
        browser.wait_for_text("#live", r"^no answer for \d+ s$")
        server.restart_counters()
        server.start()
        browser.wait_for_text("#live", "^live again after a restart$")
        assert server.paths.count("/") == 1
        server.answer = lambda: b"<html>"
        browser.wait_for_text("#live", "^unreadable answers for")
        server.answer = server.usual
        browser.wait_for_text("#live", "^live")
        assert set(server.paths) == {"/", _JSON}
    assert without_failed_loads(browser.take_messages(), _JSON) == []


@pytest.mark.timeout(300)
def test_polls_do_not_pile_up(browser: Browser) -> None:
    (port,) = free_ports(1)
    with StatusServer(port) as server:
        server.delay_s = 2
        browser.open(server.url)
        browser.wait_for_text("#live", "^live$")
        server.delay_s = 6  # longer than the patience of the page, which grows then
        browser.wait_for_text("#live", r"^no answer for \d+ s$")
        browser.wait_for_text("#live", "^live$")
        assert browser.most_requests(f"{server.url}{_JSON}") == 1
    assert without_failed_loads(browser.take_messages(), _JSON) == []


@pytest.mark.timeout(300)
def test_any_field_may_be_missing(browser: Browser) -> None:
    """An older guest lacks fields; others may have another type."""
    (port,) = free_ports(1)
    with StatusServer(port) as server:
        browser.open(server.url)
        browser.wait_for("past.length >= 2")
        status = sample(5)
        for field in status:
            assert browser.call(_SHOW_CHANGED, status, field, _MISTAKES) == []
        server.answer = lambda: b"{}"
        browser.wait_for("before.uptime_ns === undefined")
        assert browser.text("#uptime") == "up \u2013"
        browser.wait_for_text("#live", "^live")
        assert not re.search(_MISTAKES, browser.value("document.body.innerText"))
        keep_picture(browser, "status-empty")
    assert browser.take_messages() == []


@pytest.mark.timeout(300)
def test_counters_of_a_year_fit(browser: Browser) -> None:
    status = sample(365 * 24 * 3600)
    for part in (status["network"]["driver"], status["network"]["rx_pool"], status["tcp"]):
        part.update({name: 10**12 for name, value in part.items() if isinstance(value, int)})
    for each in status["services"]:
        each.update(accepted=10**12, refused=10**12, bytes=10**15)
    (port,) = free_ports(1)
    with StatusServer(port) as server:
        server.answer = lambda: json.dumps(status).encode()
        browser.open(server.url)
        browser.wait_for_text("#live", "^live$")
        check_layout(browser, "status-year")
    assert browser.take_messages() == []


@pytest.mark.timeout(300)
def test_texts_are_no_markup(browser: Browser) -> None:
    """Peers and the names of threads may contain any character."""
    markup = "<img id=markup src=x onerror=alert(1)>&lt;\"'"

    def marked(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: marked(each) for key, each in value.items()}
        if isinstance(value, list):
            return [marked(each) for each in value]
        return markup if isinstance(value, str) else value

    (port,) = free_ports(1)
    with StatusServer(port) as server:
        server.answer = lambda: json.dumps(marked(sample(0))).encode()
        browser.open(server.url)
        browser.wait_for("past.length >= 2")
        browser.wait_for_text("#live", "^live$")
        assert browser.value("document.getElementById('markup')") is None
        status = sample(0)
        names = len(status["scheduler"]["threads"]) + len(status["services"])
        assert browser.value("document.body.innerText").count(markup) > names
        browser.resize(360)
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
        assert set(server.paths) == {"/", _JSON}
    assert browser.take_messages() == []
