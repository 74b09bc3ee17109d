# SPDX-License-Identifier: BSD-2-Clause
"""The table [partition.driver] as boot arguments, which kernel/net/network.c reads, and a VCPU."""

from __future__ import annotations

from bulkhead.system.model import Driver, Vcpu, VcpuPolicy
from bulkhead.system.problems import TIME_UNITS

ALTERNATIVE = "net_alternative"
NAMES = (ALTERNATIVE, "net_failures", "net_failure_window", "net_polled_period", "net_retry")
THREAD = "net-polled"  # virtio/ports/lwip/alternative.c
FAILURES_MAX = 16  # VIRTIO_FAILURES_MAX, virtio/driver_choice.h
PERIOD_MIN, PERIOD_MAX = 50 * TIME_UNITS["us"], TIME_UNITS["s"]
RETRY_MAX = 86_400 * TIME_UNITS["s"]
PERIODS_OF_BUDGET = 5  # the budget is by default this part of the period


def arguments(driver: Driver) -> str:
    """Return the boot arguments."""
    values = (
        driver.alternative.value,
        driver.failures.count,
        driver.failures.window_ms,
        driver.period // TIME_UNITS["us"],
        driver.retry_ms,
    )
    return " ".join(f"{name}={value}" for name, value in zip(NAMES, values, strict=True))


def vcpu(driver: Driver) -> Vcpu:
    """Return the VCPU of the thread that polls."""
    return Vcpu(
        THREAD,
        VcpuPolicy.MAIN,
        driver.budget,
        driver.period,
        (THREAD,),
        driver.line,
        driver.key_lines,
    )
