# SPDX-License-Identifier: BSD-2-Clause
"""More cores for QEMU's machine `virt`, whose number of cores is an option."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devicetree import dtlib

from bulkhead.layouts.hypervisor import DESCRIPTION_CORES_MAX


@contextmanager
def more_cores(source: Path, count: object) -> Iterator[Path]:
    """Provide the source of a devicetree with `count` cores; None: as many as it has.

    The further cores are like the last one. They have the affinities that follow, which QEMU gives
    them up to 16 in a cluster.
    """
    if count is None:
        yield source
        return
    tree = dtlib.DT(str(source))
    cores = [each for each in tree.get_node("/cpus").nodes.values() if "reg" in each.props]
    if type(count) is not int or not len(cores) <= count <= DESCRIPTION_CORES_MAX:
        raise ValueError(
            f"[qemu] has {count!r} cores, and may have {len(cores)} to {DESCRIPTION_CORES_MAX}"
        )
    like = [str(prop) for name, prop in cores[-1].props.items() if name not in ("reg", "phandle")]
    added = range(len(cores), count)
    nodes = "".join(
        f"cpu{each}: cpu@{each:x} {{ reg = <{each}>; {' '.join(like)} }};\n" for each in added
    )
    places = "".join(f"core{each} {{ cpu = <&cpu{each}>; }};\n" for each in added)
    cluster = f"cpu-map {{ socket0 {{ cluster0 {{ {places} }}; }}; }};"
    with tempfile.NamedTemporaryFile("w", prefix="bulkhead-", suffix=".dts") as file:
        file.write(f"{source.read_text()}\n/ {{ cpus {{\n{nodes}{cluster}\n}}; }};\n")
        file.flush()
        yield Path(file.name)
