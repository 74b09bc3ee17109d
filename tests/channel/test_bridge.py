# SPDX-License-Identifier: BSD-2-Clause
"""bulkhead-channel bridge: two bridges on this machine, and processes in place of partitions.

Messages, values, one-way channels, requests, ends, back-pressure, routers, signals, bad input.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zenoh

from bulkhead.building.build import Variant
from bulkhead.paths import ROOT
from bulkhead.running.ports import free_ports

SECONDS = 60
PROGRAM = Variant("host", "gcc").folder / "channel/linux/bulkhead-channel"

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("bridge")]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder into which pip has installed the package."""
    folder = tmp_path_factory.mktemp("package")
    # A copy, because setuptools writes beside the sources.
    shutil.copytree(ROOT / "channel", folder / "source")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run(
        [*pip, "--no-deps", "--target", folder / "installed", folder / "source"], check=True
    )
    return folder / "installed"


class Place:
    """A folder with channels, and processes that end with the test."""

    def __init__(self, package: Path, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.endpoint = f"tcp/127.0.0.1:{port}"
        self._package = package
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            words, cwd=self.folder, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": f"{self._package}:{self.folder}",
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            },
        )  # fmt: skip
        self._processes.append(process)
        return process

    def channel(self, *words: str) -> subprocess.Popen[str]:
        return self.start(str(PROGRAM), *words)

    def python(self, script: str) -> subprocess.Popen[str]:
        return self.start(sys.executable, "-c", script)

    def bridge(self, *words: str) -> subprocess.Popen[str]:
        """Start a bridge, and return when its channels are open."""
        process = self.channel("bridge", *words)
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("bulkhead-channel: bridges "), line
        return process

    def listening(self, *words: str) -> subprocess.Popen[str]:
        return self.bridge("-l", self.endpoint, *words)

    def connecting(self, *words: str) -> subprocess.Popen[str]:
        return self.bridge("-c", self.endpoint, *words)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()


@pytest.fixture
def place(package: Path, tmp_path: Path) -> Iterator[Place]:
    (port,) = free_ports(1)
    place = Place(package, tmp_path, port)
    yield place
    place.close()


@contextlib.contextmanager
def session_at(place: Place, mode: str = "client") -> Iterator[zenoh.Session]:
    """Yield a session of the test's own, in the network of the bridges."""
    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(mode))
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("connect/endpoints", json.dumps([place.endpoint]))
    with zenoh.open(config) as session:
        yield session


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def end(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
    """End a bridge by a signal. Returns what it said."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == -number, errors
    assert "Traceback" not in errors
    return errors


def totals(errors: str, name: str) -> tuple[int, ...]:
    """Return how many messages a bridge has sent, received and dropped."""
    found = re.search(
        rf"{re.escape(name)}: (\d+) sent to the network, (\d+) received from it, (\d+) dropped",
        errors,
    )
    assert found, errors
    return tuple(map(int, found.groups()))


def test_no_message_is_lost(place: Place) -> None:
    one = place.listening("./a=fleet/c,end=1")
    other = place.connecting("./b=fleet/c")
    listener = place.channel("bench", "./b", "-e", "1", "--listen")
    bench = place.channel("bench", "./a", "-n", "5000", "-t", str(SECONDS))
    output, errors = bench.communicate(timeout=SECONDS)
    assert bench.returncode == 0, errors
    assert "throughput: 5000 messages of 8 bytes" in output
    listener.terminate()
    sent, received, dropped = totals(end(one), "./a")
    assert (received, sent, dropped) == totals(end(other), "./b")
    assert dropped == 0


def test_messages_of_the_largest_size(place: Place) -> None:
    one = place.listening("./a=fleet/c,end=1,ring=1M")
    other = place.connecting("./b=fleet/c,ring=1M")
    receiver = place.python("""
from bulkhead_channel import Channel
with Channel("./b", end=1, ring_bytes=1 << 20) as channel:
    for number in range(200):
        message = channel.receive(60)
        assert message.tag == number
        assert message.content == bytes([number]) * (channel.message_max - number)
    print("done")
""")
    sender = place.python("""
from bulkhead_channel import Channel
with Channel("./a", ring_bytes=1 << 20) as channel:
    for number in range(200):
        channel.send(bytes([number]) * (channel.message_max - number), number, 60)
    input()
""")
    assert receiver.communicate(timeout=SECONDS) == ("done\n", "")
    sender.communicate("\n", timeout=SECONDS)
    assert totals(end(one), "./a") == (200, 0, 0)
    assert totals(end(other), "./b") == (0, 200, 0)


_FOLLOW = """
from bulkhead_channel import Channel
with Channel("./a") as channel:
    while True:
        try:
            message = channel.receive(60)
        except EOFError:
            print("end", flush=True)
        else:
            print(message.content.decode(), flush=True)
"""


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_board_that_dies_and_returns(place: Place) -> None:
    """SIGKILL stands for the board: nobody says that it ends."""
    one = place.listening("./a=fleet/c,end=1")
    follower = place.python(_FOLLOW)
    for number in range(2):
        other = place.connecting("./b=fleet/c")
        sender = place.channel("send", "./b", "-e", "1", "-t", str(SECONDS))
        assert sender.stdin is not None
        sender.stdin.write(f"life {number}\n")
        sender.stdin.flush()
        assert line_of(follower) == f"life {number}"
        for process in (sender, other):
            process.kill()
            process.wait()
        assert line_of(follower) == "end"
    errors = end(one)
    assert errors.count("the far end is silent") == 2
    assert totals(errors, "./a") == (0, 2, 0)


def test_a_partition_that_ends_and_begins(place: Place) -> None:
    """All messages of a life come before its end, and none after it."""
    one = place.listening("./a=fleet/c,end=1")
    other = place.connecting("./b=fleet/c")
    follower = place.python(_FOLLOW)
    for life in range(5):
        words = [f"{life} {number}" for number in range(300)]
        sender = place.channel("send", "./b", "-e", "1", "-t", str(SECONDS), *words)
        assert [line_of(follower) for _ in words] == words
        assert line_of(follower) == "end"
        assert sender.wait(SECONDS) == 0
    assert totals(end(one), "./a") == (0, 1500, 0)
    assert totals(end(other), "./b") == (1500, 0, 0)


def test_back_pressure(place: Place) -> None:
    """A partition that receives nothing stops its sender, and nothing is dropped."""
    one = place.listening("./a=fleet/c,end=1,ring=4K")
    other = place.connecting("./b=fleet/c,ring=4K")
    receiver = place.python("""
from bulkhead_channel import Channel
with Channel("./b", end=1, ring_bytes=4096) as channel:
    channel.connect(60)
    input()
    numbers = [channel.receive(60).tag for _ in range(2000)]
    print(numbers == list(range(2000)))
""")
    sender = place.python("""
from bulkhead_channel import Channel
with Channel("./a", ring_bytes=4096) as channel:
    try:
        for number in range(2000):
            channel.send(b"x" * 1000, number, 4)
    except TimeoutError:
        print(number, flush=True)
    for number in range(number, 2000):
        channel.send(b"x" * 1000, number, 60)
    input()
""")
    # Two rings of four messages, one that is held, and a window of 64.
    assert int(line_of(sender)) <= 4 + 4 + 1 + 64
    assert receiver.stdin is not None
    receiver.stdin.write("\n")
    receiver.stdin.flush()
    assert line_of(receiver) == "True"
    sender.communicate("\n", timeout=SECONDS)
    assert totals(end(one), "./a") == (2000, 0, 0)
    assert totals(end(other), "./b") == (0, 2000, 0)


def test_a_late_bridge_gets_the_latest_value(place: Place) -> None:
    one = place.listening("./a=fleet/v,end=1,kind=value")
    done = place.channel("send", "./a", "-K", "value", "old", "newest")
    assert done.wait(SECONDS) == 0
    with session_at(place) as session:

        def latest() -> list[bytes]:
            replies = session.get("fleet/v/0", timeout=5.0)
            return [reply.ok.payload.to_bytes() for reply in replies if reply.ok]

        until(lambda: latest() == [b"newest"])
        place.connecting("./b=fleet/v,kind=value")
        receiver = place.channel("receive", "./b", "-K", "value", "-e", "1")
        assert line_of(receiver) == "newest"
        # A program of the network sends a value, without the tag of a bridge.
        session.put("fleet/v/0", "from outside")
        assert line_of(receiver) == "from outside"
        session.put("fleet/v/0", b"x" * 20000)
        session.put("fleet/v/0", "last")
        assert line_of(receiver) == "last"
    assert totals(end(one), "./a")[0] >= 1


def test_one_way_channels(place: Place) -> None:
    place.listening("./a=fleet/log,end=1,kind=one-way")
    other = place.connecting("./b=fleet/log,kind=one-way")
    receiver = place.channel("receive", "./b", "-K", "one-way", "-e", "1")
    sender = place.channel("send", "./a", "-K", "one-way")
    assert sender.stdin is not None
    assert receiver.stdout is not None
    os.set_blocking(receiver.stdout.fileno(), False)
    numbers = iter(range(10**6))
    # The receiver begins with the next message, and so does the subscriber.
    received = ""

    def has_received() -> bool:
        nonlocal received
        assert sender.stdin is not None
        assert receiver.stdout is not None
        sender.stdin.write(f"{next(numbers)}\n")
        sender.stdin.flush()
        with contextlib.suppress(BlockingIOError):
            received += os.read(receiver.stdout.fileno(), 65536).decode()
        return received.count("\n") > 100

    until(has_received)
    got = [int(line) for line in received.splitlines()]
    assert got == list(range(got[0], got[0] + len(got)))
    assert totals(end(other), "./b")[2] == 0


def test_requests_are_queries(place: Place) -> None:
    """A query reaches a partition that answers, and a call of a partition becomes a query."""
    place.listening("./a=fleet/call,end=1")
    server = place.python("""
from bulkhead_channel import Channel
with Channel("./a") as channel:
    while True:
        try:
            message = channel.receive(60)
        except EOFError:  # a far partition has ended
            continue
        if message.content == b"nothing":
            continue
        if message.content == b"twice":
            channel.answer(message, b"first", 60)
        channel.answer(message, message.content[::-1], 60)
""")
    with session_at(place) as session:

        def ask(content: bytes) -> bytes:
            replies = list(session.get("fleet/call/0/call", payload=content, timeout=20.0))
            if not replies:
                return b""
            (reply,) = replies
            answer = reply.ok.payload if reply.ok else reply.err.payload if reply.err else None
            assert answer is not None
            return answer.to_bytes()

        until(lambda: ask(b"abc") == b"cba")
        assert ask(b"twice") == b"first"
        assert ask(b"") == b""
        assert ask(b"x" * 40000) == b"a request has at most 32760 bytes"
        # Many at once: more than may wait are refused, the others are answered.
        waiting = [
            session.get("fleet/call/0/call", payload=b"%d" % number, timeout=20.0)
            for number in range(200)
        ]
        answers = [list(replies) for replies in waiting]
        assert all(len(each) == 1 for each in answers)
        right = [each[0].ok.payload.to_bytes() for each in answers if each[0].ok]
        assert len(right) >= 64
        # A call of the far partition.
        place.connecting("./b=fleet/call")
        call = place.channel("call", "./b", "-e", "1", "-t", str(SECONDS), "one", "two")
        assert call.communicate(timeout=SECONDS) == ("eno\nowt\n", "")
        assert ask(b"nothing") == b"the partition does not answer"
        server.kill()
        server.wait()
        until(lambda: ask(b"abc") == b"there is no partition")


def test_garbage_is_counted(place: Place) -> None:
    """What no bridge sends changes nothing, whatever it is, and however large."""
    one = place.listening(
        "./a=fleet/c,end=1", "./v=fleet/v,end=1,kind=value", "./o=fleet/o,kind=one-way"
    )
    other = place.connecting("./b=fleet/c")
    follower = place.python(_FOLLOW)
    sender = place.channel("send", "./b", "-e", "1", "-t", str(SECONDS))
    assert sender.stdin is not None
    sender.stdin.write("before\n")
    sender.stdin.flush()
    assert line_of(follower) == "before"
    head = b"BkC1"
    contents = [b"", b"x", bytes(44), head + bytes(40), head + b"\xff" * 40, b"\0" * (9 << 20)]
    # Well formed, of another life and generation.
    contents += [head + bytes(8) + number.to_bytes(8, "little") * 4 for number in (1, 1 << 63)]
    keys = ("fleet/c/0", "fleet/c/1", "fleet/c/1/grant", "fleet/v/1", "fleet/o/0")
    with session_at(place) as session:
        for key in keys:
            for content in contents:
                session.put(key, content)
                session.put(key, content, attachment=content[:100])
                session.put(key, "payload", attachment=content[:44])
            session.delete(key)
        sender.stdin.write("after\n")
        sender.stdin.flush()
        assert line_of(follower) == "after"
    errors = end(one)
    assert totals(errors, "./a")[:2] == (0, 2)
    for cause in ("that no bridge has sent", "of or to a life that has ended"):
        assert cause in errors
    assert "too large for the channel" in errors
    assert totals(end(other), "./b")[:2] == (2, 0)


def test_bridges_that_begin_in_any_order(place: Place) -> None:
    """The one that connects begins first."""
    one = place.connecting("./a=fleet/c,end=1")
    follower = place.python(_FOLLOW)
    sender = place.channel("send", "./b", "-e", "1", "-t", str(SECONDS), "word")
    other = place.listening("./b=fleet/c")
    assert line_of(follower) == "word"
    assert line_of(follower) == "end"
    assert sender.wait(SECONDS) == 0
    end(one)
    end(other)


def test_a_router_that_is_lost(place: Place) -> None:
    router = f"""
import json, time, zenoh
config = zenoh.Config()
config.insert_json5("mode", '"router"')
config.insert_json5("scouting/multicast/enabled", "false")
config.insert_json5("listen/endpoints", json.dumps(["{place.endpoint}"]))
with zenoh.open(config):
    print("ready", flush=True)
    time.sleep(1000)
"""
    # Clients of the router: peers that have met there would go on without it.
    (place.folder / "client.json5").write_text(f"""{{
mode: "client",
connect: {{ endpoints: ["{place.endpoint}"], timeout_ms: -1, exit_on_failure: false,
            retry: {{ period_init_ms: 200, period_max_ms: 1000 }} }},
}}""")
    process = place.python(router)
    assert line_of(process) == "ready"
    one = place.bridge("-z", "./client.json5", "./a=fleet/c,end=1")
    other = place.bridge("-z", "./client.json5", "./b=fleet/c")
    follower = place.python(_FOLLOW)
    for number in range(2):
        if process.poll() is not None:
            process = place.python(router)
            assert line_of(process) == "ready"
        sender = place.channel("send", "./b", "-e", "1", "-t", str(SECONDS))
        assert sender.stdin is not None
        sender.stdin.write(f"{number}\n")
        sender.stdin.flush()
        assert line_of(follower) == str(number)
        process.kill()
        process.wait()
        assert line_of(follower) == "end"
        sender.kill()
        sender.wait()
    assert totals(end(one), "./a") == (0, 2, 0)
    end(other)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it(place: Place, number: int) -> None:
    one = place.listening("./a=fleet/c,end=1")
    other = place.connecting("./b=fleet/c")
    follower = place.python(_FOLLOW)
    sender = place.channel("send", "./b", "-e", "1", "-t", str(SECONDS))
    assert sender.stdin is not None
    sender.stdin.write("word\n")
    sender.stdin.flush()
    assert line_of(follower) == "word"
    errors = end(other, number)
    assert line_of(follower) == "end"
    assert totals(errors, "./b") == (1, 0, 0)
    assert "silent" not in end(one)


def test_an_idle_bridge_sleeps(place: Place) -> None:
    one = place.listening("./a=fleet/c,end=1", "./v=fleet/v,end=1,kind=value")
    place.connecting("./b=fleet/c", "./w=fleet/v,kind=value")
    place.python(_FOLLOW)
    place.channel("receive", "./b", "-e", "1")
    time.sleep(2)
    status = Path(f"/proc/{one.pid}/task/{one.pid}/status")

    def sleeps() -> int:
        found = re.search(r"voluntary_ctxt_switches:\s+(\d+)", status.read_text())
        assert found
        return int(found[1])

    before = sleeps()
    time.sleep(3)
    assert sleeps() - before < 100
    assert totals(end(one), "./a") == (0, 0, 0)


def test_a_malicious_partition(place: Place) -> None:
    """A partition that violates the format costs a line, and its next life is bridged."""
    one = place.listening("./a=fleet/c,end=1")
    place.connecting("./b=fleet/c")
    follower = place.python(_FOLLOW.replace("./a", "./b").replace('b")', 'b", end=1)'))
    sender = place.channel("send", "./a", "-t", str(SECONDS))
    assert sender.stdin is not None
    sender.stdin.write("before\n")
    sender.stdin.flush()
    assert line_of(follower) == "before"
    sender.send_signal(signal.SIGSTOP)
    with (place.folder / "a").open("r+b", buffering=0) as file:
        file.seek(4096 + 128)  # the index of what end 0 has produced (channel/format.h)
        file.write((4).to_bytes(8, "little"))
    with (place.folder / "a.1").open("r+b", buffering=0) as bell:
        bell.write(b"x")
    assert line_of(follower) == "end"
    sender.kill()
    sender.wait()
    again = place.channel("send", "./a", "-t", str(SECONDS))
    assert again.stdin is not None
    again.stdin.write("after\n")
    again.stdin.flush()
    assert line_of(follower) == "after"
    assert "the peer's produced index is invalid" in end(one)


def test_a_malicious_writer_of_values(place: Place) -> None:
    """The bridge opens the channel again, and passes on what a good writer writes then."""
    one = place.listening("./v=fleet/v,end=1,kind=value")
    place.connecting("./w=fleet/v,kind=value")
    assert place.channel("send", "./v", "-K", "value", "first").wait(SECONDS) == 0
    receiver = place.channel("receive", "./w", "-K", "value", "-e", "1")
    assert line_of(receiver) == "first"
    with (place.folder / "v").open("r+b", buffering=0) as file:
        file.seek(4096 + 128)  # the index of what end 0 has produced (channel/format.h)
        file.write((1 << 63 | 5).to_bytes(8, "little"))
    with (place.folder / "v.1").open("r+b", buffering=0) as bell:
        bell.write(b"x")
    time.sleep(2)
    assert place.channel("send", "./v", "-K", "value", "again").wait(SECONDS) == 0
    assert line_of(receiver) == "again"
    end(one)


BAD = [
    ((), "the following arguments are required: CHANNEL=KEY: see --help"),
    (("x",), "'x' is no CHANNEL=KEY: see --help"),
    (("./c=",), "'./c=' is no CHANNEL=KEY: see --help"),
    (("./c=k", "--fly"), "unrecognized arguments: --fly: see --help"),
    (("./c=k,size=1",), "'size=1' is no option of a channel: see --help"),
    (("./c=k,end=0,end=1",), "'end=1' is no option of a channel: see --help"),
    (("./c=k,end=2",), "'end=2' is no end: write end=0 or end=1"),
    (("./c=k,kind=fast",), "'kind=fast' is no kind: write one of messages, value, one-way"),
    (("./c=k,ring=1.5",), "'ring=1.5' is no size: write for example ring=64K"),
    (("./c=k,ring=5",), "a ring has a power of two from 4096 to 1073741824 bytes, not 5"),
    (("./c=k,ring=9999999999G",), "a ring has a power of two from 4096 to 1073741824 bytes, not "),
    (("c=k,end=1",), "c is no path, so 'end=1' has no meaning: remove it"),
    (("none=k",), "there is no PCI function or channel 'none'"),
    (("./c=k//l",), "Invalid Key Expr `k//l`: empty chunks are forbidden"),
    (("./c=k/*",), "the key 'k/*' has a wildcard: name one key"),
    (("./c=k", "./d=k"), "two channels have the key 'k'"),
    (("./c=k", "./c=l"), "another process uses end 0 of ./c: end it first"),
    (("-c", "bogus", "./c=k"), "the network can't be used: "),
    (("-l", "tcp/192.0.2.1:1", "./c=k"), "the network can't be used: "),
    (("-z", "/none", "./c=k"), "/none is no Zenoh file: No such file or directory"),
]


@pytest.mark.parametrize(("words", "line"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input(place: Place, words: tuple[str, ...], line: str) -> None:
    process = place.channel("bridge", *words)
    output, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, output) == (2, "")
    assert errors.startswith(f"bulkhead-channel: {line}")
    assert errors.count("\n") == 1


def test_missing_parts_are_named(place: Place) -> None:
    (place.folder / "zenoh.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'zenoh'\", name='zenoh')\n"
    )
    # The folder comes behind the package, and before the environment's own.
    process = place.channel("bridge", "./c=k")
    _, errors = process.communicate(timeout=SECONDS)
    line = "bridge needs eclipse-zenoh: call python3 -m pip install 'eclipse-zenoh==1.10.2'"
    assert (process.returncode, errors) == (2, f"bulkhead-channel: {line}\n")
    (place.folder / "bulkhead_channel").mkdir()
    for path, line in (
        ("/none", "bridge needs python3: No such file or directory"),
        (None, "bridge needs the Python package bulkhead_channel: No module named "),
    ):
        environment = {"PATH": path or os.environ["PATH"], "PYTHONPATH": str(place.folder)}
        done = subprocess.run(
            [PROGRAM, "bridge", "./c=k"], env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stderr.startswith(f"bulkhead-channel: {line}")
        assert done.stderr.count("\n") == 1
