# SPDX-License-Identifier: BSD-2-Clause
"""bulkhead-channel between processes: messages, streams, counters, ends, and bad input.

Also values, one-way channels, deadlines and killed peers.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import select
import signal
import stat
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from bulkhead.building.build import COMPILERS, Variant
from bulkhead.paths import ROOT

SECONDS = 60
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Start(Protocol):
    """Starts the command; its processes end with the test."""

    def __call__(self, *arguments: str) -> subprocess.Popen[bytes]: ...


@pytest.fixture(params=[COMPILERS[0], pytest.param(COMPILERS[1], marks=pytest.mark.long)])
def program(request: pytest.FixtureRequest) -> Path:
    return Variant("host", request.param).folder / "channel/linux/bulkhead-channel"


def ignore_no_end() -> None:
    """Restore the signals that a shell ignores for tests in the background, or under nohup."""
    for number in _ENDS:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def start(program: Path, tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as processes:

        def run(*arguments: str) -> subprocess.Popen[bytes]:
            process = processes.enter_context(
                subprocess.Popen(
                    [program, *arguments],
                    cwd=tmp_path,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    preexec_fn=ignore_no_end,
                )
            )
            processes.callback(process.kill)
            return process

        yield run


def outcome(process: subprocess.Popen[bytes], given: bytes = b"") -> tuple[int, bytes, bytes]:
    """Wait for the end. Returns status, standard output and standard error."""
    output, errors = process.communicate(given, timeout=SECONDS)
    return process.returncode, output, errors


def test_messages_arrive_in_order(start: Start) -> None:
    receiver = start("receive", "./c", "-e", "1")
    assert outcome(start("send", "./c", "first", "", "third message")) == (0, b"", b"")
    assert outcome(receiver) == (0, b"first\n\nthird message\n", b"")


def test_lines_of_standard_input_are_messages(start: Start) -> None:
    receiver = start("receive", "./c", "-e", "1", "-n", "2")
    assert outcome(start("send", "./c"), b"one\ntwo") == (0, b"", b"")
    assert outcome(receiver) == (0, b"one\ntwo\n", b"")


# A message with what ends messages, an empty one, and one without an end.
BINARY = [b"a\nb\0c", b"", b"\xff\n"]


def counted(messages: Sequence[bytes]) -> bytes:
    return b"".join(len(each).to_bytes(4, "little") + each for each in messages)


def test_binary_messages_follow_their_lengths(start: Start) -> None:
    receiver = start("receive", "./c", "-e", "1", "-f", "lengths")
    sender = start("send", "./c", "--framing=lengths")
    assert outcome(sender, counted(BINARY)) == (0, b"", b"")
    assert outcome(receiver) == (0, counted(BINARY), b"")


def test_messages_end_with_nuls(start: Start) -> None:
    receiver = start("receive", "./c", "-e", "1", "-f", "nuls")
    assert outcome(start("send", "./c", "-f", "nuls"), b"a\nb\0\0last") == (0, b"", b"")
    assert outcome(receiver) == (0, b"a\nb\0\0last\0", b"")


def test_binary_calls_are_answered(start: Start) -> None:
    server = start("answer", "./c", "-e", "1", "-n", "3", "-f", "lengths")
    caller = start("call", "./c", "-f", "lengths")
    assert server.stdin is not None
    server.stdin.write(counted(BINARY[::-1]))
    server.stdin.flush()
    assert outcome(caller, counted(BINARY)) == (0, counted(BINARY[::-1]), b"")
    assert outcome(server) == (0, counted(BINARY), b"")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (b"\x03\0\0", "standard input ends within a message"),
        (b"\x03\0\0\0ab", "standard input ends within a message"),
        (
            b"\xff\xff\xff\xff",
            "standard input has a message of 4294967295 bytes: none is so large",
        ),
        (
            b"\0\0\1\0" + bytes(65536),
            "a value of 65536 bytes is larger than this channel's largest, 16368",
        ),
    ],
)
def test_input_that_is_not_framed(start: Start, given: bytes, line: str) -> None:
    sender = start("send", "./c", "-K", "value", "-f", "lengths")
    assert outcome(sender, given) == (2, b"", f"bulkhead-channel: {line}\n".encode())


def test_the_version_is_that_of_the_project(start: Start) -> None:
    version = re.search(r"(?m)^  version: '(.*)',$", (ROOT / "meson.build").read_text())
    assert version is not None
    packed = tomllib.loads((ROOT / "channel/pyproject.toml").read_text())["project"]["version"]
    assert packed == version[1]
    line = f"bulkhead-channel {packed}\n".encode()
    assert outcome(start("--version")) == outcome(start("send", "-V")) == (0, line, b"")


def test_the_manual_page_has_all_commands_and_options(start: Start) -> None:
    page = ROOT / "channel/linux/install/bulkhead-channel.1"
    text = page.read_text().replace("\\-", "-")
    _, help_text, _ = outcome(start("--help"))
    words = re.findall(r"(?m)^  (-\w), (--[a-z]+)|^  ([a-z]+) ", help_text.decode())
    assert len(words) > 15
    for word in filter(None, itertools.chain.from_iterable(words)):
        assert word in text, word


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes two users, which needs root")
@pytest.mark.parametrize("mode", [0o2770, 0o3777])
def test_two_users_of_a_group(program: Path, mode: int) -> None:
    """They share channels in a folder with the set-group-ID bit, whatever the umask is."""
    group, users = 54321, (54322, 54323)

    def run(user: int, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/proc/self/fd/3", *arguments],
            cwd=folder,
            user=user,
            group=user,
            extra_groups=[group] if user != 1 else [],
            umask=0o077,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: os.dup2(opened, 3),
            pass_fds=[3],
        )

    opened = os.open(program, os.O_RDONLY)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        os.chown(folder, 0, group)
        Path(folder).chmod(mode)
        receiver = run(users[1], "receive", "./c", "-e", "1")
        assert outcome(run(users[0], "send", "./c", "word")) == (0, b"", b"")
        assert outcome(receiver) == (0, b"word\n", b"")
        for name in ("c", "c.0", "c.1"):
            status = Path(folder, name).stat()
            assert (stat.S_IMODE(status.st_mode), status.st_gid) == (0o660, group)
        assert {path.name for path in Path(folder).iterdir()} == {"c", "c.0", "c.1"}
        stranger = outcome(run(1, "send", "./c", "word"))
        assert stranger[0] == 2
        assert stranger[2].endswith(b"can't be opened: Permission denied\n")


def test_files_are_private(start: Start, tmp_path: Path) -> None:
    assert outcome(start("send", "./c", "-K", "value", "x"))[0] == 0
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_a_receiver_keeps_on_after_its_peer(start: Start) -> None:
    receiver = start("receive", "./c", "-e", "1", "-k", "-n", "3")
    for word in ("one", "two", "three"):
        assert outcome(start("send", "./c", word)) == (0, b"", b"")
    assert outcome(receiver) == (0, b"one\ntwo\nthree\n", b"")


def test_a_killed_peer_leaves_its_messages(start: Start) -> None:
    sender = start("send", "./c", "-e", "0")
    receiver = start("receive", "./c", "-e", "1", "-k", "-n", "2")
    assert sender.stdin is not None
    sender.stdin.write(b"before\n")
    sender.stdin.flush()
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == b"before\n"
    sender.kill()
    sender.wait()
    assert outcome(start("send", "./c", "after")) == (0, b"", b"")
    assert outcome(receiver) == (0, b"after\n", b"")


@pytest.mark.parametrize("number", _ENDS)
def test_a_peer_that_is_asked_to_end_says_so(start: Start, number: signal.Signals) -> None:
    sender = start("send", "./c", "-e", "0")
    receiver = start("receive", "./c", "-e", "1")
    assert sender.stdin is not None
    sender.stdin.write(b"before\n")
    sender.stdin.flush()
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == b"before\n"
    sender.send_signal(number)
    assert sender.wait(SECONDS) == -number
    assert outcome(receiver) == (0, b"", b"")


def test_a_signal_that_is_ignored_does_not_end_a_command(program: Path, tmp_path: Path) -> None:
    """A shell ignores SIGINT for processes in the background."""
    ignoring = ["sh", "-c", 'trap "" INT; exec "$0" "$@"', str(program)]
    command = [*ignoring, "send", "./c", "-t", "1", "word"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as sender:
        while not (tmp_path / "c").is_file():
            time.sleep(0.01)
        for _ in range(50):
            sender.send_signal(signal.SIGINT)
            time.sleep(0.01)
        assert sender.wait(SECONDS) == 1


@pytest.mark.parametrize("ring", ["4K", "64K"])
def test_streams_in_both_directions(start: Start, ring: str) -> None:
    one = b"".join(b"%d\n" % number for number in range(200_000))
    other = bytes(range(256)) * 2000
    first = start("cat", "./c", "-r", ring)
    second = start("cat", "./c", "-r", ring, "-e", "1")
    # At once, because each side's output waits for its reader.
    with ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(outcome, first, one), pool.submit(outcome, second, other)]
        assert [end.result() for end in ends] == [(0, other, b""), (0, one, b"")]


def test_bench_prints_figures(start: Start) -> None:
    listener = start("bench", "./c", "-e", "1", "--listen")
    status, output, errors = outcome(start("bench", "./c", "-n", "20000", "-s", "64"))
    assert (status, errors) == (0, b"")
    lines = output.decode().splitlines()
    assert lines[0].startswith("throughput: 20000 messages of 64 bytes in ")
    assert lines[1].startswith("round trip: minimum ")
    assert outcome(listener)[0] == 0


def test_bench_sends_in_an_interval_and_makes_no_more_round_trips_than_wanted(start: Start) -> None:
    listener = start("bench", "./c", "-e", "1", "--listen")
    status, output, errors = outcome(start("bench", "./c", "-n", "3", "-i", "0.02", "-T", "0"))
    assert (status, errors) == (0, b"")
    (line,) = output.decode().splitlines()
    found = re.match(r"throughput: 3 messages of 8 bytes in ([\d.]+) s: ", line)
    assert found
    assert float(found[1]) >= 0.04  # the third one is sent two intervals after the first one
    assert outcome(listener)[0] == 0
    listener = start("bench", "./c", "-e", "1", "--listen")
    status, output, _ = outcome(start("bench", "./c", "-n", "1", "--trips", "1"))
    assert (status, len(output.splitlines())) == (0, 2)
    assert outcome(listener)[0] == 0


def test_calls_are_answered(start: Start) -> None:
    server = start("answer", "./c", "-e", "1", "-k")
    assert server.stdin is not None
    server.stdin.write(b"one\n\nthree\nfour")
    server.stdin.close()
    server.stdin = None
    assert outcome(start("call", "./c", "first", "")) == (0, b"one\n\n", b"")
    # The next life of the client; the server has a response for the first request only.
    client = start("call", "./c")
    assert outcome(client, b"third\nfourth\nfifth\n") == (
        1,
        b"three\nfour\n",
        b"bulkhead-channel: the other side ended\n",
    )
    assert outcome(server) == (
        2,
        b"first\n\nthird\nfourth\nfifth\n",
        b"bulkhead-channel: standard input has no response for this request\n",
    )


def test_a_server_ends_with_its_client(start: Start) -> None:
    server = start("answer", "./c", "-e", "1")
    # A message that is not a request gets no response.
    assert outcome(start("send", "./c", "word")) == (0, b"", b"")
    assert outcome(server) == (0, b"", b"")
    server = start("answer", "./c", "-e", "1", "-n", "1")
    client = start("call", "./c", "question")
    assert outcome(server, b"x" * 32761 + b"\n")[0] == 2  # the largest message has 32760 bytes
    assert outcome(client)[0] == 1
    server = start("answer", "./c", "-e", "1", "-n", "1")
    client = start("call", "./c", "question")
    assert outcome(server, b"answer\n") == (0, b"question\n", b"")
    assert outcome(client) == (0, b"answer\n", b"")


def test_a_call_ends_without_a_response(start: Start, tmp_path: Path) -> None:
    late = b"bulkhead-channel: the time passed, and the other side does not answer\n"
    receiver = start("receive", "./c", "-e", "1", "-k")
    await_life(tmp_path / "c", 1)
    assert outcome(start("call", "./c", "-t", "3", "one", "two")) == (1, b"", late)
    receiver.terminate()
    assert outcome(receiver)[1] == b"one\n"
    status, output, errors = outcome(start("call", "./c", "-t", "0.05", "word"))
    assert (status, output) == (1, b"")
    assert errors == b"bulkhead-channel: nobody uses the other side of ./c\n"


def test_a_flood_does_not_keep_a_call(start: Start) -> None:
    flood = start("cat", "./c", "-e", "1")
    client = start("call", "./c", "-t", "2", "word")
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(outcome, flood, b"x" * (1 << 30))
        assert outcome(client)[:2] == (1, b"")
        flood.kill()
        with contextlib.suppress(OSError):
            sent.result()


_PAGE_BYTES, _RING_BYTES = 4096, 65536
# Words of a control page (format.h).
_GENERATION, _PRODUCED, _OVERWRITTEN, _CONSUMED, _SENT = 16, 128, 136, 256, 512


def word(path: Path, end: int, offset: int, value: int | None = None) -> int:
    """Return a word of an end's control page. Writes it first if there is a value."""
    at = _PAGE_BYTES + end * (_PAGE_BYTES + _RING_BYTES) + offset
    with path.open("r+b", buffering=0) as file:
        if value is not None:
            file.seek(at)
            file.write(value.to_bytes(8, "little"))
        file.seek(at)
        return int.from_bytes(file.read(8), "little")


def await_life(path: Path, end: int) -> None:
    """Wait until a process has begun to use this end."""
    deadline = time.monotonic() + SECONDS
    while not path.exists() or word(path, end, _GENERATION) == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("command", "peer", "offset", "index"),
    [
        (("cat",), ("cat",), _PRODUCED, "produced"),
        (("bench", "-n", "1000000000"), ("bench", "--listen"), _CONSUMED, "consumed"),
        (("bench", "--listen"), ("bench", "-n", "1000000000"), _PRODUCED, "produced"),
    ],
    ids=["cat", "bench", "listen"],
)
def test_a_malicious_peer_is_reported(
    start: Start, tmp_path: Path, command: Sequence[str], peer: Sequence[str], offset: int,
    index: str,
) -> None:  # fmt: skip
    process = start(command[0], "./c", *command[1:])
    other = start(peer[0], "./c", "-e", "1", *peer[1:])
    for each in (process, other):
        assert each.stdin is not None
        each.stdin.write(b"first")
        each.stdin.flush()
    path = tmp_path / "c"
    deadline = time.monotonic() + SECONDS
    while not path.exists() or word(path, 0, _SENT) + word(path, 1, _SENT) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    # The other side writes nothing any more, and has not ended.
    other.send_signal(signal.SIGSTOP)
    os.waitpid(other.pid, os.WUNTRACED)
    word(path, 1, offset, 4)
    with (tmp_path / "c.0").open("r+b", buffering=0) as bell:
        bell.write(b"x")
        status, _, errors = outcome(process)
    assert status == 2
    assert f"the peer's {index} index is invalid (value 0x4 at position " in errors.decode()
    assert errors.count(b"\n") == 1


def test_bench_ends_when_its_time_has_passed(start: Start) -> None:
    listener = start("cat", "./c", "-e", "1")
    status, output, errors = outcome(start("bench", "./c", "-n", "1", "-t", "0.5"))
    assert (status, output) == (1, b"")
    assert b"the time passed, and the other side does not answer" in errors
    listener.kill()


def say(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def says_nothing(process: subprocess.Popen[bytes]) -> bool:
    """Return True if the process prints nothing for a moment."""
    assert process.stdout is not None
    return not select.select([process.stdout], [], [], 0.01)[0]


def hear(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize("kind", ["messages", "value", "one-way"])
def test_an_end_has_one_user(start: Start, tmp_path: Path, kind: str) -> None:
    channel = ("./c", "-K", kind)
    receiver = start("receive", *channel, "-e", "1")
    sender = start("send", *channel)
    # The receiver of a one-way channel begins with the next message.
    while says_nothing(receiver):
        say(sender, b"before\n")
    for process in (sender, receiver):
        process.send_signal(signal.SIGSTOP)
    content = (tmp_path / "c").read_bytes()
    for command in (("receive", *channel, "-e", "1"), ("send", *channel, "word")):
        end = command.count("-e")
        line = f"bulkhead-channel: another process uses end {end} of ./c: end it first\n"
        assert outcome(start(*command)) == (2, b"", line.encode())
    for side in "01":
        assert outcome(start("stat", *channel, "-e", side))[0] == 0
    assert (tmp_path / "c").read_bytes() == content
    for process in (sender, receiver):
        process.send_signal(signal.SIGCONT)
    say(sender, b"after\n")
    while hear(receiver) != b"after\n":
        pass
    # A process that is killed leaves no lock.
    for process in (sender, receiver):
        process.kill()
        process.wait()
    receiver = start("receive", *channel, "-e", "1", "-n", "1")
    sender = start("send", *channel)
    while says_nothing(receiver):
        say(sender, b"again\n")
    assert outcome(receiver)[0] == 0


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("kind", ["messages", "value", "one-way"])
def test_only_the_own_section_is_writable(
    start: Start, tmp_path: Path, kind: str, end: int
) -> None:
    process = start("receive" if end == 1 else "send", "./c", "-K", kind, "-e", str(end))
    path, section = tmp_path / "c", _PAGE_BYTES + _RING_BYTES
    sections = 1 if kind == "one-way" else 2
    maps: list[list[str]] = []
    deadline = time.monotonic() + SECONDS
    writable = list[tuple[int, int]]()
    expected = [] if sections == 1 and end == 1 else [(_PAGE_BYTES + end * section, section)]
    while not maps or writable != expected:  # the file is mapped before it is protected
        assert time.monotonic() < deadline, writable
        lines = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
        maps = [line.split() for line in lines if line.endswith(str(path))]
        writable = []
        for addresses, access, offset, *_ in maps:
            first, last = (int(address, 16) for address in addresses.split("-"))
            if "w" in access:
                writable.append((int(offset, 16), last - first))


def test_cat_ends_when_its_output_ends(start: Start) -> None:
    process = start("cat", "./c")
    other = start("cat", "./c", "-e", "1")
    assert process.stdout is not None
    process.stdout.close()
    say(other, b"first\n")
    assert process.wait(SECONDS) == 2
    assert process.stderr is not None
    line = b"bulkhead-channel: standard output can't be written: Broken pipe\n"
    assert process.stderr.read() == line
    assert outcome(other)[0] == 1


@pytest.mark.parametrize("given", [None, b"", bytes(1 << 20)], ids=["idle", "end", "much"])
def test_cat_does_not_wait_longer_for_a_hung_peer(
    start: Start, tmp_path: Path, given: bytes | None
) -> None:
    other = start("cat", "./c", "-e", "1")
    await_life(tmp_path / "c", 1)
    process = start("cat", "./c", "-t", "4")
    say(process, b"first\n")
    assert hear(other) == b"first\n"
    other.send_signal(signal.SIGSTOP)
    if given is None:
        assert process.wait(SECONDS) == 1
    status, output, errors = outcome(process, given or b"")
    assert (status, output) == (1, b"")
    line = b"bulkhead-channel: the time passed, and the other side does not answer\n"
    assert errors == line


@pytest.mark.long
def test_each_message_gives_cat_more_time(start: Start, tmp_path: Path) -> None:
    """More than 10 s: it waits for time-outs."""
    other = start("cat", "./c", "-e", "1")  # no time: it waits for an idle peer
    await_life(tmp_path / "c", 1)
    process = start("cat", "./c", "-t", "6")
    for number in range(9):
        to, by = (process, other) if number % 2 else (other, process)
        say(by, b"%d\n" % number)
        assert hear(to) == b"%d\n" % number
        time.sleep(0.8)
    assert other.poll() is None
    assert process.poll() is None
    # Ended by its time, because nobody says anything.
    assert process.wait(SECONDS) == 1
    assert outcome(other)[0] == 1


def test_stat_shows_counters_of_both_sides(start: Start) -> None:
    receiver = start("receive", "./c", "-e", "1", "-n", "3")
    assert outcome(start("send", "./c", "1", "2", "3"))[0] == 0
    assert outcome(receiver)[0] == 0
    status, output, errors = outcome(start("stat", "./c"))
    rows = {line[:16].strip(): line[16:].split() for line in output.decode().splitlines()[1:]}
    assert (status, errors) == (0, b"")
    assert rows["messages sent"] == ["3", "0"]
    assert rows["received"] == ["0", "3"]
    assert rows["bytes sent"] == ["48", "0"]
    assert rows["errors"] == ["0", "0"]


def test_stat_creates_nothing(start: Start, tmp_path: Path) -> None:
    line = b"bulkhead-channel: there is no channel ./typo: No such file or directory\n"
    for kind in ("messages", "value", "one-way"):
        assert outcome(start("stat", "./typo", "-K", kind)) == (2, b"", line)
    assert list(tmp_path.iterdir()) == []
    # A file that is no channel stays as it is.
    (tmp_path / "typo").touch()
    assert outcome(start("stat", "./typo"))[0] == 2
    assert (tmp_path / "typo").stat().st_size == 0


@pytest.mark.parametrize("size", [None, 73728], ids=["new", "sparse"])
def test_a_full_file_system_is_reported(program: Path, tmp_path: Path, size: int | None) -> None:
    """A store to a page for which there is no block would end the process by SIGBUS."""
    make = 'mount -t tmpfs -o size=64k tmpfs . && cd "$PWD"'
    if size is not None:
        make += f" && truncate -s {size} ./c"
    script = f'{make} && yes | head -n 20000 | "$0" send ./c -K one-way'
    command = ["unshare", "--mount", "sh", "-c", script, str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=SECONDS, check=False)
    line = b"bulkhead-channel: ./c can't have 73728 bytes: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_a_deadline_passes(start: Start) -> None:
    status, output, errors = outcome(start("send", "./c", "-t", "0.05", "word"))
    assert (status, output) == (1, b"")
    assert errors == b"bulkhead-channel: nobody uses the other side of ./c\n"


def test_the_newest_value_is_received(start: Start) -> None:
    value = ("./c", "-K", "value")
    assert outcome(start("send", *value, "old", "newest")) == (0, b"", b"")
    assert outcome(start("receive", *value, "-e", "1", "-n", "1")) == (0, b"newest\n", b"")
    receiver = start("receive", *value, "-e", "1")
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == b"newest\n"
    for word in (b"one", b"", b"another"):
        assert outcome(start("send", *value), word + b"\n") == (0, b"", b"")
        assert receiver.stdout.readline() == word + b"\n"
    receiver.kill()
    receiver.wait()
    # The other direction has values of its own.
    assert outcome(start("send", *value, "-e", "1", "back")) == (0, b"", b"")
    assert outcome(start("receive", *value, "-n", "1")) == (0, b"back\n", b"")
    status, output, errors = outcome(start("receive", *value, "-n", "2", "-t", "0.05"))
    assert (status, output, errors) == (1, b"back\n", b"")


def test_a_writer_that_takes_its_value_back(start: Start, tmp_path: Path) -> None:
    value = ("./c", "-K", "value")
    assert outcome(start("send", *value, "one", "two", "three")) == (0, b"", b"")
    receiver = start("receive", *value, "-e", "1", "-t", "0.5")
    assert hear(receiver) == b"three\n"
    word(tmp_path / "c", 0, _PRODUCED, 0)
    assert outcome(receiver) == (1, b"", b"")


def test_a_slow_receiver_of_a_one_way_channel_misses_messages(start: Start) -> None:
    one_way = ("./c", "-K", "one-way", "-r", "4K")
    receiver = start("receive", *one_way, "-e", "1")
    sender = start("send", *one_way)
    assert sender.stdin is not None
    assert receiver.stdout is not None
    numbers = itertools.count()
    # The receiver begins with the next message, and nobody sees when it begins.
    while not select.select([receiver.stdout], [], [], 0.01)[0]:
        sender.stdin.write(b"%d\n" % next(numbers))
        sender.stdin.flush()
    received = [int(receiver.stdout.readline())]
    receiver.send_signal(signal.SIGSTOP)
    count = next(numbers) + 2000
    lines = b"".join(b"%d\n" % number for number in range(count - 2000, count))
    assert outcome(sender, lines) == (0, b"", b"")
    receiver.send_signal(signal.SIGCONT)
    while received[-1] != count - 1:
        received.append(int(receiver.stdout.readline()))
    receiver.terminate()
    _, _, errors = outcome(receiver)
    missed = [int(each) for each in re.findall(rb"bulkhead-channel: missed (\d+) messages", errors)]
    assert received == sorted(set(received))
    assert sum(missed) == count - received[0] - len(received) > 1000


def test_a_malicious_sender_of_a_one_way_channel_keeps_nobody(start: Start, tmp_path: Path) -> None:
    one_way = ("./c", "-K", "one-way", "-r", "64K")
    receiver = start("receive", *one_way, "-e", "1", "-t", "6")
    assert receiver.stdout is not None
    while not select.select([receiver.stdout], [], [], 0.01)[0]:
        assert outcome(start("send", *one_way, "word")) == (0, b"", b"")
    # Messages that are overwritten for ever.
    word(tmp_path / "c", 0, _OVERWRITTEN, 1 << 40)
    word(tmp_path / "c", 0, _PRODUCED, 1 << 30)
    status, output, _ = outcome(receiver)
    assert status == 1
    assert set(output.splitlines()) == {b"word"}


def test_ends_and_kinds_that_a_command_is_not_for(start: Start) -> None:
    value, one_way = ("-K", "value"), ("-K", "one-way")
    for arguments, line in (
        (
            ("send", "./o", *one_way, "-e", "1", "x"),
            "the end of ./o that receives: it is a one-way",
        ),
        (("receive", "./o", *one_way), "the end of ./o that sends: it is a one-way channel"),
        (("cat", "./o", *one_way), "cat is for channels of messages: ./o is of the kind one-way"),
        (
            ("call", "./v", *value, "x"),
            "call is for channels of messages: ./v is of the kind value",
        ),
        (("answer", "./o", *one_way), "answer is for channels of messages: ./o is of the kind"),
        (("bench", "./v", *value), "bench is for channels of messages: ./v is of the kind value"),
        (("send", "./v", *value, "x" * 16369), "a value of 16369 bytes is larger than this"),
        (("send", "./o", *one_way, "x" * 32753), "a message of 32753 bytes is larger than this"),
        (("receive", "./o", "-e", "1"), "./o is no channel with rings of this size: remove it"),
    ):
        status, output, errors = outcome(start(*arguments))
        assert (status, output) == (2, b"")
        assert line in errors.decode()
    status, output, _ = outcome(start("stat", "./o", *one_way))
    assert (status, output.splitlines()[0]) == (0, b"ring of 65536 bytes from end 0 to end 1")
    assert output.splitlines()[2].split() == [b"messages", b"sent", b"0", b"-"]
    status, output, _ = outcome(start("stat", "./v", *value))
    assert (status, output.splitlines()[0]) == (0, b"values of up to 16368 bytes each way")


BAD = [
    (("send", "./c", "-K", "fast"), "option -K: 'fast' is no valid value: see --help"),
    (("stat", "./c", "word"), "stat takes no message: 'word'"),
    (
        ("fly", "./c"),
        "there is no command 'fly': send, receive, call, answer, cat, bench, stat, lend or bridge",
    ),
    (("send",), "name a command and a channel: see --help"),
    (("send", "./c", "-e", "2"), "option -e: '2' is no valid value: see --help"),
    (("send", "./c", "-t", "soon"), "option -t: 'soon' is no valid value: see --help"),
    (("bench", "./c", "-T", "10001"), "option -T: '10001' is no valid value: see --help"),
    (("bench", "./c", "-i", "-1"), "option -i: '-1' is no valid value: see --help"),
    (("receive", "./c", "-n", "0"), "option -n: '0' is no valid value: see --help"),
    (("send", "./c", "-r", "8T"), "option -r: '8T' is no valid value: see --help"),
    (
        ("send", "./c", "-r", "5000", "x"),
        "a ring has a power of two from 4096 to 1073741824 bytes, not 5000",
    ),
    (("send", "./no/c", "x"), "./no/c.0 can't be opened: No such file or directory"),
    (
        ("send", "no-such-channel", "x"),
        "there is no PCI function or channel 'no-such-channel': see the names in the system file, "
        "and lspci",
    ),
]


@pytest.mark.parametrize(("arguments", "line"), BAD)
def test_bad_input_is_one_line(start: Start, arguments: Sequence[str], line: str) -> None:
    assert outcome(start(*arguments)) == (2, b"", f"bulkhead-channel: {line}\n".encode())


def test_a_file_of_something_else_is_left_alone(start: Start, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"precious")
    status, _, errors = outcome(start("send", "./c", "x"))
    assert status == 2
    assert errors == b"bulkhead-channel: ./c is no channel with rings of this size: remove it\n"
    assert (tmp_path / "c").read_bytes() == b"precious"


def test_a_message_that_is_too_large(start: Start) -> None:
    receiver = start("receive", "./c", "-e", "1")
    status, _, errors = outcome(start("send", "./c", "-r", "64K"), b"x" * 40000 + b"\n")
    assert status == 2
    assert b"a message of 40000 bytes is larger than this channel's largest, 32760" in errors
    assert outcome(receiver)[0] == 0
