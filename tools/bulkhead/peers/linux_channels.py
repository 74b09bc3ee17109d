# SPDX-License-Identifier: BSD-2-Clause
"""Prepare the Linux guests that use channels: the command, Python package, and plot of records.

That of a fleet also has Zenoh, with which the bridge connects channels of several boards.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

from bulkhead import console, lock
from bulkhead.building.build import BuildFailure
from bulkhead.paths import BUILD, ROOT
from bulkhead.peers import arm64_packages, linux_guest, zenoh_wheel
from bulkhead.peers.arm64_packages import Wanted
from bulkhead.peers.linux_guest import LinuxImage

_CHANNEL = ROOT / "channel"
_PLOT = ROOT / "apps/level/plot"
_PYTHON_FOLDER = BUILD / "python-arm64"
# The interpreter, its standard library and headers, and the libraries that it is linked with.
_PYTHON = Wanted("python3 libpython3-dev", r"^(lib)?python3|^libexpat1_|^zlib1g_")
# Parts of the standard library that are large, and of no use without a terminal or a compiler.
_NO_USE = re.compile(r"(config-.*|test|ensurepip|idlelib|lib2to3|pydoc_data|turtle\.py)(/|$)")
_ZENOH_FOLDER = BUILD / "zenoh-libraries"
_ZENOH = Wanted("libgcc-s1", r"^libgcc-s1_")
_DRIVER = "uio_pci_generic"
# For channels with these keys of the system file.
_MODULES = {
    "pci": [_DRIVER],
    "dax": [_DRIVER, "of_pmem", "nd_pmem", "device_dax", "dax_pmem"],
}
# Binds the functions of channels (docs/channels.md) before the plot begins.
_PLOT_SCRIPT = f"""#!/bin/sh
echo 110a 4106 > /sys/bus/pci/drivers/{_DRIVER}/new_id
exec python3 /usr/lib/plot/plot.py "$@"
"""
# Starts the bridge again when it ends: its channels may not be there yet, or its port be in use.
_BRIDGE_SCRIPT = f"""#!/bin/sh
echo 110a 4106 > /sys/bus/pci/drivers/{_DRIVER}/new_id
while true; do
    bulkhead-channel bridge "$@"
    sleep 1
done
"""
# The plot of a channel that another board has: the arguments are those of the bridge.
_FAR_PLOT_SCRIPT = """#!/bin/sh
cd /run
bridge "$@" &
exec python3 /usr/lib/plot/plot.py ./plot 80 1  # the bridge has end 0, that of the controller
"""
_PACKAGES = "usr/lib/python3/dist-packages"


def prepare() -> LinuxImage:
    """Return the ordinary guest with all of it. Fetches and builds what is missing."""
    plain = linux_guest.prepare()
    image = LinuxImage(plain.kernel, plain.initrd.with_name("initrd-channels"))
    stamp = plain.initrd.with_name("initrd-channels.stamp")
    with lock.held(plain.initrd.parent):
        inputs = _digest(plain)
        if not stamp.is_file() or stamp.read_text() != inputs:
            with console.progress("making the initramfs of linux-channels"):
                made = _with_command(plain, "pci")
                files = {**_python_files(plain), **_plot_files()}
                linux_guest.with_files(made, "channels", files).initrd.replace(image.initrd)
            stamp.write_text(inputs)
    return image


def prepare_fleet() -> LinuxImage:
    """Return the guest of prepare() with Zenoh, and the scripts of systems/fleet."""
    image = prepare()
    with lock.held(image.initrd.parent):
        package = {f"{_PACKAGES}/{name}": each for name, each in zenoh_wheel.files().items()}
        for content in list(package.values()):
            if content.startswith(b"\x7fELF"):
                root = arm64_packages.unpack(_ZENOH_FOLDER, "libraries of Zenoh", [_ZENOH])
                needed = linux_guest.libraries(content, root, image.initrd.parent / "root")
                package |= {f"lib/{library}": each for library, each in needed}
        scripts = {
            "bin/bridge": _BRIDGE_SCRIPT.encode(),
            "bin/far-plot": _FAR_PLOT_SCRIPT.encode(),
        }
        return linux_guest.with_files(image, "fleet", {**package, **scripts})


def prepare_command(key: str) -> LinuxImage:
    """Return a guest with bulkhead-channel and the drivers of channels with `key`: pci or dax."""
    plain = linux_guest.prepare_dax() if key == "dax" else linux_guest.prepare()
    return _with_command(plain, key)


def _with_command(plain: LinuxImage, key: str) -> LinuxImage:
    image = linux_guest.with_modules(plain, _MODULES[key])
    folders = [_CHANNEL, _CHANNEL / "linux", _CHANNEL / "linux/command"]
    return linux_guest.with_program(
        image, "bulkhead-channel", _sources(*folders), [*_includes(), folders[-1]]
    )


def _digest(plain: LinuxImage) -> str:
    """Return a checksum of what the initramfs is made of."""
    files = [plain.initrd, Path(__file__), Path(linux_guest.__file__), *_PLOT.iterdir()]
    files += [path for path in _CHANNEL.rglob("*") if path.suffix in (".c", ".h", ".py")]
    checksum = hashlib.sha256()
    for path in sorted(files):
        checksum.update(path.read_bytes())
    return checksum.hexdigest()


def _plot_files() -> dict[str, bytes]:
    files = {f"usr/lib/plot/{path.name}": path.read_bytes() for path in _PLOT.iterdir()}
    return {**files, "bin/plot": _PLOT_SCRIPT.encode()}


def _python_files(image: LinuxImage) -> dict[str, bytes]:
    """Return python3 and the package bulkhead_channel."""
    with lock.held(_PYTHON_FOLDER):
        root = arm64_packages.unpack(_PYTHON_FOLDER, "Python for arm64 (30 MB)", [_PYTHON])
        extension = _PYTHON_FOLDER / "_channel.so"
        version = _version(root)
        _build_extension(root / "usr/include", version, extension)
    interpreter = (root / "usr/bin" / version).read_bytes()
    needed = linux_guest.libraries(interpreter, root, image.initrd.parent / "root")
    package = f"{_PACKAGES}/bulkhead_channel"
    sources = _CHANNEL / "python/bulkhead_channel"
    return {
        "usr/bin/python3": interpreter,
        **{f"lib/{library}": content for library, content in needed},
        **_standard_library(root, version),
        **{
            f"{package}/{path.relative_to(sources)}": path.read_bytes()
            for path in sorted(sources.rglob("*.py"))
        },
        f"{package}/_channel.so": extension.read_bytes(),
    }


def _sources(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in sorted(folder.glob("*.c"))]


def _includes() -> list[Path]:
    return [_CHANNEL / "include", _CHANNEL / "linux/include", _CHANNEL / "linux"]


def _version(root: Path) -> str:
    """Return the name of the interpreter, such as python3.11."""
    names = [path.name for path in (root / "usr/bin").iterdir()]
    return max(name for name in names if re.fullmatch(r"python3\.\d+", name))


def _standard_library(root: Path, version: str) -> dict[str, bytes]:
    folder = root / "usr/lib" / version
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not _NO_USE.match(str(path.relative_to(folder)))
    }


def _build_extension(headers: Path, version: str, target: Path) -> None:
    """Build the package's extension module (channel/setup.py) for the guest's Python."""
    folders = [_CHANNEL, _CHANNEL / "linux", _CHANNEL / "python/extension"]
    # The headers of Python include pyconfig.h of their architecture by its path from `headers`.
    includes = [*_includes(), headers / version, headers]
    flags = ["-O2", "-shared", "-fPIC", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    flags += [f"-I{folder}" for folder in includes]
    sources = [str(path) for path in _sources(*folders)]
    command = ["aarch64-linux-gnu-gcc", *flags, *sources, "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailure(done.stderr)
