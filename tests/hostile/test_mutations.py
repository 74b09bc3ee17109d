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
from support.libfuzzer import run_fuzzer

from .driver_fuzzer import PROGRAM, ROOT, fuzz, unpack
from .test_fuzz import (
    BLOCK,
    BLOCK_OPTIONS,
    BLOCK_PROGRAMS,
    POLLED,
    POLLED_OPTIONS,
    POLLED_PROGRAMS,
    PROGRAMS,
    with_pool,
)

BUILD = ROOT / "build" / "host-clang"
MODELS = BUILD / "tests" / "hardware_models"
POLLED_TEST = BUILD / "tests" / "unit" / "virtio" / "test_virtio_net_polled"
POOL_TEST = POLLED_TEST.with_name("test_virtio_net_pool")
CASES = [PROGRAM.with_name(f"test_hostile_{name}") for name in ("cases", "net_cases")]


@dataclass(frozen=True)
class Mutation:
    """One deliberate fault in a file of the driver, or of another folder's."""

    name: str
    file: str  # below the folder
    old: str
    new: str
    folder: str = "virtio"

    @property
    def path(self) -> Path:
        """The file."""
        return ROOT / self.folder / self.file


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

# The polled driver has a fuzzer of its own (fuzz_polled.c).
POLLED_MUTATIONS = [
    Mutation(
        "used index distance",
        "polled/frames.c",
        "if (finished > queue->with_device) {",
        "if (finished > UINT16_MAX) {",
    ),
    Mutation("used id range", "polled/frames.c", "if (id >= queue->size || !", "if (!"),
    Mutation(
        "used id not with the device",
        "polled/frames.c",
        "if (id >= queue->size || !queue->has[id]) {",
        "if (id >= queue->size) {",
    ),
    Mutation("buffer returned twice", "polled/frames.c", "    queue->has[id] = false;\n", ""),
    Mutation(
        "used length", "polled/frames.c", "if (bytes > BUFFER_BYTES) {", "if (bytes > UINT16_MAX) {"
    ),
    Mutation(
        "frame longer than the room for it",
        "polled/frames.c",
        " ||\n        bytes - VIRTIO_NET_HEADER_BYTES > capacity) {",
        ") {",
    ),
    Mutation(
        "short frames",
        "polled/frames.c",
        "if (bytes < VIRTIO_NET_HEADER_BYTES + ETHERNET_HEADER ||\n        ",
        "if (",
    ),
    Mutation(
        "frame sent that is too long",
        "polled/frames.c",
        "id == NONE || !is_valid(segments, bytes)) {",
        "id == NONE) {",
    ),
    Mutation(
        "reset believed",
        "polled/start.c",
        "polled->transport->queues != 0) {",
        "polled->receive.size == 0) {",
    ),
    Mutation(
        "queue without entries",
        "polled/start.c",
        "if (size == 0) {",
        "if (size > ENTRIES) {",
    ),
]

# Found with a device that can access only a pool.
POOL_MUTATIONS = [
    Mutation(
        "ring beside the pool",
        "virtqueue/create.c",
        "virtio_dma_allocate(queue->pool, ",
        "virtio_dma_allocate(NULL, ",
    ),
    Mutation(
        "command beside the pool",
        "net/control.c",
        "virtio_dma_allocate(device->pool, ",
        "virtio_dma_allocate(NULL, ",
    ),
    Mutation(
        "frame read in the pool",
        "net/bounce.c",
        "        memcpy(buffer->memory + ",
        "        if (*(volatile uint8_t *)slot->memory == 0xff) { continue; }\n"
        "        memcpy(buffer->memory + ",
    ),
    Mutation(
        "room of a receive buffer",
        "net/bounce.c",
        "room < net->receive_slots.bytes ? room : net->receive_slots.bytes",
        "net->receive_slots.bytes",
    ),
    Mutation(
        "frame of several slots",
        "pool/bounce.c",
        "(struct virtio_bounce_place){.slot = place->slot->next}",
        "(struct virtio_bounce_place){.slot = place->slot}",
    ),
    Mutation(
        "slots of a sent frame",
        "pool/bounce.c",
        "        give(bounce, chain);\n        chain = next;",
        "        give(bounce, chain);\n        chain = NULL;",
    ),
    Mutation(
        "buffers with the slots of a reset queue",
        "net/stop.c",
        "        if (net->bounces) {\n            token",
        "        if (false) {\n            token",
    ),
    Mutation(
        "frame with more slots than the ring has entries",
        "net/transmit.c",
        " || !net_bounce_fits(net, bytes)) {",
        ") {",
    ),
]

BLOCK_MUTATIONS = [
    Mutation(
        "number of pieces",
        "block/requests.c",
        "if (count > block->geometry.segments_max) {",
        "if (false) {",
    ),
    Mutation(
        "pieces of the ring",
        "block/create.c",
        "if (geometry->segments_max > pieces - FRAMING) {",
        "if (false) {",
    ),
    Mutation(
        "sectors beyond the capacity",
        "block/requests.c",
        "request->sector <= geometry->sectors &&",
        "true ||",
    ),
    Mutation(
        "write to a read-only device",
        "block/requests.c",
        "(request->kind == VIRTIO_BLOCK_WRITE && geometry->is_read_only)",
        "false",
    ),
    Mutation(
        "requests of a driver that stops",
        "block/create.c",
        "        return_requests(block);\n    }\n    return true;",
        "    }\n    return true;",
    ),
    Mutation(
        "reset that is not confirmed",
        "block/create.c",
        "if (!virtio_transport_reset(block->transport) && block->transport->queues != 0) {",
        "if (!virtio_transport_reset(block->transport) && false) {",
    ),
    Mutation(
        "flood of interrupts",
        "block/interrupt.c",
        "is_masked = block->interrupts >= INTERRUPTS_MAX;",
        "is_masked = false;",
    ),
    Mutation(
        "request for a reset",
        "block/interrupt.c",
        "if ((status & VIRTIO_STATUS_NEEDS_RESET) != 0) {",
        "if (false) {",
    ),
]


def mutated(mutation: Mutation) -> str:
    """Return the text of the file with this fault."""
    text = mutation.path.read_text()
    count = text.count(mutation.old)
    assert count == 1, f"{mutation.name}: {mutation.file} has its text {count} times; adapt it"
    return text.replace(mutation.old, mutation.new)


def name_of(mutation: Mutation) -> str:
    """Return the name of the mutation's test."""
    if mutation in POLLED_MUTATIONS:
        return f"polled: {mutation.name}"
    if mutation in POOL_MUTATIONS:
        return f"pool: {mutation.name}"
    return f"block: {mutation.name}" if mutation in BLOCK_MUTATIONS else mutation.name


@pytest.mark.parametrize(
    "mutation",
    [*MUTATIONS, *POLLED_MUTATIONS, *POOL_MUTATIONS, *BLOCK_MUTATIONS],
    ids=name_of,
)
def test_mutated_text_exists(mutation: Mutation) -> None:
    """Without --long, this test notices changes of the driver that a mutation no longer fits."""
    assert mutated(mutation) != ""


def compile_mutated(mutation: Mutation, folder: Path, library: Path) -> Path:
    """Compile the file with this fault as it was compiled for a library, by the folder of whose
    objects."""
    folder.mkdir(parents=True, exist_ok=True)
    broken = folder / Path(mutation.file).name
    broken.write_text(mutated(mutation))
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        output = BUILD / entry["output"]
        if output.parent == library and entry["file"].endswith(
            f"{mutation.folder}/{mutation.file}"
        ):
            made: Path = folder / output.name
            changed = {entry["file"]: str(broken), entry["output"]: str(made)}
            command = [changed.get(word, word) for word in shlex.split(entry["command"])]
            command += ["-w", f"-I{mutation.path.parent}"]
            subprocess.run(command, cwd=BUILD, check=True)
            return made
    raise AssertionError(f"{mutation.file} is no file of {library}")


def build(mutation: Mutation, folder: Path, program: Path, driver: str) -> Path:
    """Build the program with this fault in the driver; `driver` is the library with its
    objects."""
    objects = {
        path.name: path
        for library in (
            program.parent / f"lib{driver}.a.p",
            program.parent / "libhostile_harness.a.p",
            MODELS / "pci" / "libpci_model.a.p",
            MODELS / "virtio" / "libvirtio_model.a.p",
            program.parent / f"{program.name}.p",
        )
        for path in library.glob("*.o")
    }
    driver_folder = program.parent / f"lib{driver}.a.p"
    replaced = compile_mutated(mutation, folder, driver_folder)
    objects[replaced.name] = replaced
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


def found_by_fuzzer(mutation: Mutation, folder: Path, fuzzer: Path = PROGRAM) -> bool:
    program = build(mutation, folder, fuzzer, "fuzzed_driver")
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


def found_by_unit_test(mutation: Mutation, folder: Path, unit_test: Path) -> bool:
    """Link the unit test with the broken file before the library."""
    object_file = compile_mutated(mutation, folder, BUILD / "virtio" / "libvirtio.a.p")
    libraries = (
        BUILD / "tests" / "unit" / "virtio" / "libfake_device.a",
        BUILD / "virtio" / "libvirtio.a",
        *MODELS.glob("*/lib*_model.a"),
    )
    (test,) = unit_test.with_name(f"{unit_test.name}.p").glob("*.o")
    linked = folder / unit_test.name
    command = ["clang", "-fsanitize=address,undefined", test, object_file, "-o", linked]
    command += ["-Wl,--start-group", *libraries, "-lcmocka", "-Wl,--end-group"]
    subprocess.run([str(word) for word in command], check=True)
    return subprocess.run([linked], capture_output=True, check=False).returncode != 0


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mutation", POOL_MUTATIONS, ids=name_of)
def test_missing_check_with_a_pool_is_found(mutation: Mutation, log_folder: Path) -> None:
    shutil.rmtree(log_folder, ignore_errors=True)
    by_fuzzer = found_by_fuzzer(mutation, log_folder / "fuzzer", with_pool(PROGRAM))
    assert by_fuzzer or found_by_unit_test(mutation, log_folder, POOL_TEST)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mutation", POLLED_MUTATIONS, ids=name_of)
def test_missing_check_of_the_polled_driver_is_found(mutation: Mutation, log_folder: Path) -> None:
    shutil.rmtree(log_folder, ignore_errors=True)
    program = build(mutation, log_folder / "fuzzer", POLLED, "fuzzed_driver")
    done = run_fuzzer(program, log_folder, POLLED_PROGRAMS, 1, POLLED_OPTIONS, None)
    assert done.returncode != 0 or found_by_unit_test(mutation, log_folder, POLLED_TEST), (
        done.stdout
    )


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mutation", BLOCK_MUTATIONS, ids=name_of)
def test_missing_check_of_the_block_driver_is_found(mutation: Mutation, log_folder: Path) -> None:
    shutil.rmtree(log_folder, ignore_errors=True)
    program = build(mutation, log_folder / "fuzzer", BLOCK, "fuzzed_driver")
    done = run_fuzzer(program, log_folder, BLOCK_PROGRAMS, 1, BLOCK_OPTIONS, None)
    assert done.returncode != 0, done.stdout
