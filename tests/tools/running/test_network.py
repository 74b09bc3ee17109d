# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces: the link between the host and a guest's tap."""

from __future__ import annotations

import os

import pytest

from bulkhead.running.network import HOST_ADDRESS, Namespace
from bulkhead.running.qemu import MAC

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")


@pytest.mark.parametrize(("megabits", "host"), [(None, "bridge0"), (400, "host0")])
def test_the_link_is_shaped_if_a_rate_is_given(megabits: int | None, host: str) -> None:
    with Namespace(number=7, megabits=megabits) as namespace:
        tap = namespace.add_tap(MAC)
        addresses = namespace.run(["ip", "-br", "-4", "addr"]).stdout.splitlines()
        (holder,) = (line.split("@")[0].split()[0] for line in addresses if HOST_ADDRESS in line)
        assert holder == host
        bridged = namespace.run(["ip", "-br", "link", "show", "master", "bridge0"]).stdout
        assert tap.interface in bridged
        shaped = namespace.run(["tc", "qdisc", "show"]).stdout
        for interface in ("host0", "port0"):
            wanted = f"dev {interface} root"
            lines = [line for line in shaped.splitlines() if wanted in line and "tbf" in line]
            assert [f"rate {megabits}Mbit" in line for line in lines] == [True] * bool(megabits)
        assert ("port0" in bridged) == bool(megabits)


def test_the_limit_of_the_link_can_be_changed() -> None:
    with Namespace(number=8, megabits=400) as namespace:
        namespace.shape(50)
        shaped = namespace.run(["tc", "qdisc", "show"]).stdout
        assert (shaped.count("rate 50Mbit"), shaped.count("rate 400Mbit")) == (2, 0)
