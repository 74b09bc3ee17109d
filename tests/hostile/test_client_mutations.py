# SPDX-License-Identifier: BSD-2-Clause
"""Remove each of the back-ends' checks in turn, and expect the fuzzer to find that.

With --long the fuzzer must fail for each mutation. By default only the source text of each mutation
is compared with the back-ends'.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .test_client_fuzz import FOLDER, PROGRAMS, fuzz
from .test_mutations import BUILD, MODELS, Mutation, compile_mutated, mutated

LIBRARY = FOLDER / "libattacked_backend.a.p"

NETWORK = [
    Mutation(
        "end of a window",
        "device/memory.c",
        "offset < region->bytes && bytes <= region->bytes - offset",
        "offset < region->bytes",
    ),
    Mutation(
        "number of a descriptor",
        "device/queue.c",
        "if (number >= table.entries) {",
        "if (false) {",
    ),
    Mutation(
        "longest chain",
        "device/queue.c",
        "for (unsigned read = 0; read < queue->size;) {",
        "for (unsigned read = 0; read < 4096;) {",
    ),
    Mutation(
        "place of an indirect table",
        "device/queue.c",
        "if (table->words == NULL) {",
        "if (false) {",
    ),
    Mutation(
        "length of a descriptor read twice",
        "device/queue.c",
        "if (!add_segment(queue, chain, &descriptor)) {",
        "bool added = add_segment(queue, chain, &descriptor);"
        "if (added && descriptor.bytes != 0) chain->segments[chain->readable + chain->writable - 1]"
        ".bytes = virtio_shared_load32(&table.words[number * DESCRIPTOR_WORDS + 2]);"
        "if (!added) {",
    ),
    Mutation(
        "frame without a header",
        "device/net_transmit.c",
        "chain->readable_bytes < DEVICE_NET_HEADER_BYTES + DEVICE_NET_FRAME_MIN ||",
        "",
    ),
    Mutation(
        "place of the checksum",
        "device/net_transmit.c",
        "(uint32_t)frame->checksum_start + frame->checksum_offset + CHECKSUM_BYTES <=\n"
        "               frame->bytes;",
        "true;",
    ),
    Mutation(
        "buffer smaller than the header",
        "device/net_receive.c",
        "if (sink->may_merge && net->chain.writable_bytes < DEVICE_NET_HEADER_BYTES) {",
        "if (false) {",
    ),
    Mutation(
        "headers of a divided frame",
        "device/net_segmentation.c",
        "tcp_bytes < TCP_BYTES_MIN || segmentation->headers > DEVICE_NET_SEGMENT_HEADERS_MAX ||\n"
        "        segmentation->headers >= frame->bytes || ",
        "",
    ),
    Mutation(
        "table of addresses",
        "device/net_control.c",
        "*entries > (command->bytes - start) / ADDRESS_BYTES ? 0",
        "false ? 0",
    ),
    Mutation(
        "checksum over the addresses",
        "network/transfer.c",
        "if (transfer->ports != 0 && !is_checksum_behind_header(transfer)) {",
        "if (false) {",
        "backend",
    ),
    Mutation(
        "header read twice",
        "network/transfer.c",
        "uint32_t replaced = frame_switch_header_bytes(&transfer->decision);",
        "uint32_t replaced = (copy_first(&frame, transfer->first, transfer->copied), "
        "frame_switch_header_bytes(&transfer->decision));",
        "backend",
    ),
    Mutation(
        "stop before the acknowledgement",
        "network/client.c",
        "client->state = NETWORK_CLIENT_STOPPED;",
        "",
        "backend",
    ),
    Mutation(
        "source address",
        "switch/frame_switch.c",
        "bridge->clients[port].address == source ? FRAME_NOT_DROPPED",
        "true ? FRAME_NOT_DROPPED",
        "backend",
    ),
    Mutation(
        "tag of a client without VLANs",
        "switch/frame_switch.c",
        "return is_trunk(bridge, port) && *vlan <= FRAME_VLAN_MAX;",
        "return true;",
        "backend",
    ),
    Mutation(
        "charge of a frame",
        "switch/fair_queue.c",
        "client->deficit -= (int32_t)cost;",
        "",
        "backend",
    ),
]
STORAGE = [
    Mutation(
        "range of the client",
        "device/block.c",
        "request->sector > block->sectors ||\n        count > block->sectors - request->sector ||",
        "",
    ),
    Mutation(
        "request without a status",
        "device/block.c",
        "if (request->chain.writable_bytes < STATUS_BYTES) {",
        "if (false) {",
    ),
    Mutation(
        "read-only client",
        "device/block.c",
        "(kind == DEVICE_BLOCK_WRITE && block->is_read_only)",
        "false",
    ),
    Mutation(
        "request without a header",
        "device/block.c",
        "if (chain->readable_bytes < sizeof(header)) {",
        "if (false) {",
    ),
    Mutation(
        "room for the identity",
        "device/block.c",
        "if (bytes < VIRTIO_BLOCK_ID_BYTES) {",
        "if (false) {",
    ),
    Mutation(
        "transfer of a driver that was stopped",
        "storage/client.c",
        "transfer->request = NULL;",
        "",
        "backend",
    ),
    Mutation(
        "turns",
        "storage/storage.c",
        "storage->turn = (storage->turn + 1) % storage->count;",
        "storage->turn = (storage->turn + (idle != 0)) % storage->count;",
        "backend",
    ),
    Mutation(
        "number of requests",
        "storage/requests.c",
        "client->count == STORAGE_REQUESTS || ",
        "",
        "backend",
    ),
]
MUTATIONS = [("network", mutation) for mutation in NETWORK] + [
    ("storage", mutation) for mutation in STORAGE
]


def name_of(value: object) -> str:
    return value.name if isinstance(value, Mutation) else str(value)


@pytest.mark.parametrize(("backend", "mutation"), MUTATIONS, ids=name_of)
def test_mutated_text_exists(backend: str, mutation: Mutation) -> None:
    """Without --long, this test notices changes of a back-end that a mutation no longer fits."""
    assert mutated(mutation) != "", backend


def build(mutation: Mutation, folder: Path, backend: str) -> Path:
    """Build the fuzzer with this fault."""
    unit = BUILD / "tests" / "unit"
    objects = {path.name: path for path in LIBRARY.glob("*.o")}
    replaced = compile_mutated(mutation, folder, LIBRARY)
    assert replaced.name in objects
    objects[replaced.name] = replaced
    linked = folder / f"fuzz_{backend}"
    command = [
        "clang",
        "-fsanitize=address,undefined,fuzzer",
        *(FOLDER / f"fuzz_{backend}.p").glob("*.o"),
        *(FOLDER / "libclient_harness.a.p").glob("*.o"),
        *objects.values(),
        "-Wl,--start-group",
        unit / "backend" / f"lib{backend}_fixture.a",
        unit / "virtio" / "libfake_device.a",
        BUILD / "virtio" / "libvirtio.a",
        *MODELS.glob("*/lib*_model.a"),
        "-lcmocka",
        "-Wl,--end-group",
        "-o",
        linked,
    ]
    subprocess.run([str(word) for word in command], check=True)
    return linked


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("backend", "mutation"), MUTATIONS, ids=name_of)
def test_missing_check_is_found(backend: str, mutation: Mutation, log_folder: Path) -> None:
    shutil.rmtree(log_folder, ignore_errors=True)
    program = build(mutation, log_folder / "build", backend)
    passed, output = fuzz(program, log_folder, 10 * PROGRAMS[backend], 1)
    assert not passed, output
