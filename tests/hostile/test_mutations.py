# SPDX-License-Identifier: BSD-2-Clause
"""Remove each of the driver's checks in turn, and expect the tests to find that.

With --long the fuzzer or a case must fail for each mutation. By default only the source text of
each mutation is compared with the driver's.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from .driver_fuzzer import PROGRAM, ROOT, fuzz, unpack
from .test_fuzz import PROGRAMS

BUILD = ROOT / "build" / "host-clang"
CASES = [PROGRAM.with_name(f"test_hostile_{name}") for name in ("cases", "net_cases")]


@dataclass(frozen=True)
class Mutation:
    """One deliberate fault in a file of the driver."""

    name: str
    file: str  # below virtio/
    old: str
    new: str


# The used element in the ring that take_plain_chains() checks.
USED = "queue->used->ring[(queue->taken + i) & queue->mask]"
IN_RING = "(queue->packed || queue->batch != 0)"

MUTATIONS = [
    Mutation("used id range", "virtqueue/take.c", "if (id >= size || (in_order", "if ((in_order"),
    Mutation(
        "used id not in flight",
        "virtqueue/take.c",
        "if (slot->token == NULL || slot->shape != 0) {",
        "if (slot->shape != 0) {",
    ),
    Mutation(
        "token returned twice",
        "virtqueue/take.c",
        "slot->token = NULL;\n        if (in_order)",
        "if (in_order)",
    ),
    Mutation(
        "used length",
        "virtqueue/take.c",
        "if (items[i].bytes > slot->writable_bytes)",
        "if (false)",
    ),
    Mutation(
        "used length read twice",
        "virtqueue/take.c",
        "items[i].token = slot->token;",
        "items[i].token = slot->token;"
        f"if (!{IN_RING}) items[i].bytes = virtio_shared_load32(&{USED}.bytes);",
    ),
    Mutation(
        "used id read twice",
        "virtqueue/take.c",
        "slot = &slots[id];",
        f"slot = &slots[{IN_RING} ? id : virtio_shared_load32(&{USED}.id)];",
    ),
    Mutation(
        "used index distance",
        "virtqueue/split.c",
        "if ((uint16_t)(index - queue->taken) > (uint16_t)(queue->published - queue->taken))",
        "if (false)",
    ),
    Mutation(
        "used id in order",
        "virtqueue/take.c",
        "if (count == finished) {",
        "if (count == UINT16_MAX) {",
    ),
    Mutation(
        "chain followed through the ring",
        "virtqueue/take.c",
        "last = &queue->slots[last->next];",
        "last = &queue->slots[queue->descriptors[last - queue->slots].rest >> 48];",
    ),
    Mutation(
        "generation loop",
        "transport/transport.c",
        "for (unsigned tries = 0; tries < GENERATION_TRIES; tries++)",
        "for (unsigned tries = 0;; tries++)",
    ),
    Mutation(
        "reset timeout",
        "transport/transport.c",
        "!queues_disabled(transport)) {\n        if (virtio_platform_now() - started >",
        "!queues_disabled(transport)) {\n        if (started >",
    ),
    Mutation(
        "queue reset timeout",
        "transport/transport.c",
        "begin = false) {\n        if (virtio_platform_now() - started >",
        "begin = false) {\n        if (started >",
    ),
    Mutation(
        "reset of a queue: believed",
        "transport/transport.c",
        "return operations->queue_disabled(transport, index);",
        "return true;",
    ),
    Mutation(
        "reset of a queue: again and again",
        "net/stop.c",
        "(queue->was_reset && now - queue->reset_at < RESET_PERIOD) ||",
        "",
    ),
    Mutation(
        "reset believed",
        "net/stop.c",
        "if (!virtio_transport_reset(net->transport) && net->transport->queues != 0)",
        "if (!virtio_transport_reset(net->transport) && net->mtu == 0)",
    ),
    Mutation(
        "memory lost without queues",
        "net/stop.c",
        "if (!virtio_transport_reset(net->transport) && net->transport->queues != 0)",
        "if (!virtio_transport_reset(net->transport))",
    ),
    Mutation(
        "configuration bounds",
        "transport/transport.c",
        "if (!fields_inside(transport, fields, count)) {",
        "if (!fields_inside(transport, fields, 0)) {",
    ),
    Mutation(
        "short frames",
        "net/receive.c",
        "return bytes >= net->header_bytes + ETHERNET_HEADER_BYTES;",
        "return true;",
    ),
    Mutation(
        "short frames lost",
        "net/receive.c",
        "    if (expose(net, &buffer, 1, &item) == 0) {\n"
        "        return_to_owner(net, buffer);\n    }\n}",
        "}",
    ),
    Mutation(
        "number of buffers read twice",
        "net/receive.c",
        "net->merge_left = (uint16_t)(buffer->buffers - 1u);",
        "net->merge_left = (uint16_t)(buffer->memory[HEADER_BUFFERS] - 1u);",
    ),
    Mutation(
        "interrupt budget", "net/receive.c", "net_at_most(budget - moved, NET_BATCH)", "NET_BATCH"
    ),
    Mutation(
        "MTU changed",
        "net/negotiate.c",
        "if (!read16(net, CONFIG_MTU, &value) || !mtu_fits(net, value, net->features)) {",
        "if (!read16(net, CONFIG_MTU, &value)) {",
    ),
    Mutation(
        "number of pairs changed",
        "net/negotiate.c",
        "if (!read16(net, CONFIG_PAIRS, &value) || !pairs_fit(net, value)) {",
        "if (!read16(net, CONFIG_PAIRS, &value)) {",
    ),
    Mutation(
        "command never answered",
        "net/control.c",
        "virtio_platform_now() - started > ANSWER_NANOSECONDS",
        "started == 0",
    ),
    Mutation(
        "command changed before its answer",
        "net/control.c",
        "if (virtqueue_in_flight(ring) != 0 && virtqueue_take(ring, &written) == NULL)",
        "if (false)",
    ),
    Mutation(
        "command answered by anything",
        "net/control.c",
        "has_answer && *answer == ANSWER_OK",
        "has_answer",
    ),
    Mutation(
        "command answered by nothing",
        "net/control.c",
        "bool has_answer = net->transport->legacy || written != 0;",
        "bool has_answer = true;",
    ),
    Mutation(
        "broken control queue used on",
        "net/stop.c",
        "recover_queue(net, &net->device->control);",
        "(void)net;",
    ),
    Mutation(
        "command answered by the last answer",
        "net/control.c",
        "    device->command[ANSWER] = ANSWER_NONE;",
        "",
    ),
    Mutation(
        "address changed unasked",
        "net/control.c",
        "if (answer == VIRTIO_NET_DONE) {",
        "if (answer != VIRTIO_NET_NOT_SENT) {",
    ),
    Mutation(
        "legacy configuration read once",
        "transport/transport.c",
        "same = same && fields[i].value == last;",
        "same = true;",
    ),
    Mutation(
        "queue already in use",
        "transport/registers.c",
        "if (!queue_disabled(transport, setup->index)) {",
        "if (false) {",
    ),
    Mutation(
        "notification register",
        "transport/registers.c",
        "if (offset + 2 > transport->notify_bytes || offset % 2 != 0)",
        "if (offset % 2 != 0)",
    ),
    Mutation(
        "capability list without end",
        "transport/pci.c",
        "count < CAPABILITIES_MAX && cap",
        "cap",
    ),
    Mutation("reserved BAR", "transport/pci.c", "if (bar >= BARS || ", "if ("),
    Mutation(
        "structure too small",
        "transport/pci.c",
        " ||\n        bytes < known[type - 1].bytes_minimum",
        "",
    ),
]


def mutated(mutation: Mutation) -> str:
    """Return the text of the file with this fault."""
    text = (ROOT / "virtio" / mutation.file).read_text()
    count = text.count(mutation.old)
    assert count == 1, f"{mutation.name}: {mutation.file} has its text {count} times; adapt it"
    return text.replace(mutation.old, mutation.new)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_mutated_text_exists(mutation: Mutation) -> None:
    """Without --long, this test notices changes of the driver that a mutation no longer fits."""
    assert mutated(mutation) != ""


def build(mutation: Mutation, folder: Path, program: Path, driver: str) -> Path:
    """Build the program with this fault in the driver; `driver` is the library with its
    objects."""
    text = mutated(mutation)
    folder.mkdir(parents=True)
    broken = folder / Path(mutation.file).name
    broken.write_text(text)
    objects = {
        path.name: path
        for library in (
            program.parent / f"lib{driver}.a.p",
            program.parent / "libhostile_harness.a.p",
            BUILD / "tests" / "models" / "pci" / "libpci_model.a.p",
            BUILD / "tests" / "models" / "virtio" / "libvirtio_model.a.p",
            program.parent / f"{program.name}.p",
        )
        for path in library.glob("*.o")
    }
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        output = BUILD / entry["output"]
        if objects.get(output.name) == output and entry["file"].endswith(f"virtio/{mutation.file}"):
            changed = {entry["file"]: str(broken), entry["output"]: str(folder / output.name)}
            command = [changed.get(word, word) for word in shlex.split(entry["command"])]
            command += ["-w", f"-I{(ROOT / 'virtio' / mutation.file).parent}"]
            subprocess.run(command, cwd=BUILD, check=True)
            objects[output.name] = folder / output.name
    linked = folder / program.name
    rest = ["-lcmocka"] if program in CASES else ["-fsanitize=fuzzer"]
    link = ["clang", "-fsanitize=address,undefined", *objects.values(), *rest, "-o", linked]
    subprocess.run([str(word) for word in link], check=True)
    return linked


def found_by_cases(mutation: Mutation, folder: Path) -> bool:
    programs = [build(mutation, folder / case.name, case, "hostile_driver") for case in CASES]
    return any(
        subprocess.run([program], capture_output=True, check=False).returncode != 0
        for program in programs
    )


def found_by_fuzzer(mutation: Mutation, folder: Path) -> bool:
    program = build(mutation, folder, PROGRAM, "fuzzed_driver")
    corpus = folder / "corpus"
    corpus.mkdir()
    unpack(corpus)
    return fuzz(program, corpus, folder, PROGRAMS).failed


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_missing_check_is_found(mutation: Mutation, log_folder: Path) -> None:
    shutil.rmtree(log_folder, ignore_errors=True)
    by_fuzzer = found_by_fuzzer(mutation, log_folder / "fuzzer")
    assert by_fuzzer or found_by_cases(mutation, log_folder / "cases")
