# SPDX-License-Identifier: BSD-2-Clause
"""The bench framework: results are printed and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bulkhead.errors import UserError
from bulkhead.measuring import bench
from bulkhead.peers import rtems
from bulkhead.settings import Settings

_BENCH = '''"""Shows that the framework works.

More.
"""

from __future__ import annotations

from dataclasses import dataclass

from bulkhead.measuring.bench import BenchContext, BenchResult


@dataclass(frozen=True)
class Two:
    value: int = 2


def run(context: BenchContext) -> BenchResult:
    assert context.pairs == 3
    return BenchResult({"answer": 42, "ratio": 0.5}, [{"guest": "a", "n": 1}, {"m": Two().value}])
'''


@pytest.fixture
def benches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bench"
    (folder / "sample").mkdir(parents=True)
    (folder / "sample" / "bench.py").write_text(_BENCH)
    monkeypatch.setattr(bench, "BENCHES", folder)
    return folder


@pytest.mark.usefixtures("benches")
def test_listing_describes_each_bench() -> None:
    assert bench.listing() == {"sample": "Shows that the framework works."}


@pytest.mark.usefixtures("benches")
def test_result_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    bench.run_bench("sample", path, bench.BenchContext("sample", Settings(), 3, 1.0))
    record = json.loads(path.read_text())
    assert list(record) == ["bench", "summary", "runs", "environment"]
    assert record["bench"] == "sample"
    assert record["summary"] == {"answer": 42, "ratio": 0.5}
    assert record["runs"] == [{"guest": "a", "n": 1}, {"m": 2}]
    for name in ("cpu", "kernel", "qemu", "compiler", "commit", "dirty", "date", "stolen_percent"):
        assert name in record["environment"]
    printed = capsys.readouterr().out
    assert "answer" in printed
    assert "42" in printed
    assert list(tmp_path.glob(".*")) == []


def test_tables_in_a_file_are_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [f"a_column_of_{number}" for number in range(40)]
    row: dict[str, bench.Number | str] = dict.fromkeys(columns, 123_456_789_012)
    bench.report("wide", bench.BenchResult({"a" * 200: 1}, [row]), None)
    printed = capsys.readouterr().out
    assert "a" * 200 in printed
    assert all(column in printed for column in columns)
    assert printed.count("123,456,789,012") == len(columns)
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed


def test_vhost_user_checks_the_machine_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "vhost-user" in bench.listing()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UserError, match="huge pages need root"):
        bench.run_bench("vhost-user", None, bench.BenchContext("vhost-user", Settings(), 1, 1.0))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    with pytest.raises(UserError, match="a core for each side"):
        bench.run_bench("vhost-user", None, bench.BenchContext("vhost-user", Settings(), 1, 1.0))


def test_median_and_range() -> None:
    assert bench.median_and_range("x", [3, 1, 2]) == {"x": 2, "x_min": 1, "x_max": 3}


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (0.98765, "0.988"), (1234.56, "1,234.6"), ("linux", "linux")],
)
def test_numbers_are_written_readably(value: float | str, text: str) -> None:
    assert bench.format_value(value) == text


def test_a_bench_refuses_a_guest_that_it_cannot_measure() -> None:
    context = bench.BenchContext("tcp", Settings(), 1, 1.0, "rtems")
    with pytest.raises(UserError, match="bench tcp can't measure rtems; --guest is one of"):
        bench.run_bench("tcp", None, context)


@pytest.mark.parametrize(
    ("name", "fix"), [("tcp", "remove --case"), ("vcpu", "--case is one of wake_ups, .*rtems")]
)
def test_a_bench_refuses_a_case_that_it_does_not_have(name: str, fix: str) -> None:
    context = bench.BenchContext(name, Settings(), case="sleep")
    with pytest.raises(UserError, match=f"bench {name} has no case 'sleep'; {fix}"):
        bench.run_bench(name, None, context)


def test_missing_rtems_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("RTEMS_PREFIX", "RTEMS_TOOLS"):
        monkeypatch.delenv(variable, raising=False)
    assert rtems.find() is None
    with pytest.raises(UserError, match="RTEMS_PREFIX names no folder"):
        rtems.require()
    monkeypatch.setenv("RTEMS_PREFIX", "/nowhere")
    assert rtems.require().tools == Path("/nowhere")
    with pytest.raises(UserError, match="no RTEMS with the legacy stack in RTEMS_PREFIX"):
        rtems.require(rtems.LEGACY)


@pytest.mark.parametrize(
    ("line", "skips"),
    [
        ("#define CLOCK_DRIVER_USE_FAST_IDLE 1", True),
        ("/* #undef CLOCK_DRIVER_USE_FAST_IDLE */", False),
    ],
)
def test_a_clock_that_skips_idle_time_is_detected(tmp_path: Path, line: str, skips: bool) -> None:
    folder = tmp_path / "aarch64-rtems7/a53_lp64_qemu/lib/include"
    folder.mkdir(parents=True)
    (folder / "bspopts.h").write_text(f"{line}\n")
    found = rtems.Rtems(tmp_path, tmp_path, "aarch64/a53_lp64_qemu")
    assert rtems.skips_idle_time(found) == skips
    assert not rtems.skips_idle_time(rtems.Rtems(tmp_path, tmp_path, "aarch64/other"))
