# SPDX-License-Identifier: BSD-2-Clause
"""Prepare the Linux guests of systems and benches: an arm64 kernel package and an initramfs."""

import gzip
import hashlib
import io
import lzma
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead import console, lock
from bulkhead.building.build import BuildFailure
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, ROOT
from bulkhead.peers import arm64_packages
from bulkhead.peers.arm64_packages import Wanted
from bulkhead.setup import distribution, packages

_FOLDER = BUILD / "linux"
_REAL_TIME_FOLDER = BUILD / "linux-rt"
_DAX_FOLDER = BUILD / "linux-dax"
_RT_TESTS_FOLDER = BUILD / "rt-tests"
_KERNEL_PACKAGES = r"^linux-(image|modules)-(unsigned-)?\d"
_PROGRAMS = "busybox-static iperf"
_IRQBALANCE_FOLDER = BUILD / "irqbalance"
_IRQBALANCE = Wanted("irqbalance", r"^(irqbalance|lib|zlib)")
_RT_TESTS = Wanted("rt-tests libnuma1", r"^(rt-tests|libnuma1)_")
_UDEV_FOLDER = BUILD / "udev-arm64"
_UDEV = Wanted("udev", r"^(udev|lib|zlib)")
_MODULES = ("virtio_pci", "virtio_mmio", "virtio_net", "virtio_blk")
# The codec's driver comes first: the guest has no modprobe, which would load it on demand.
_SOUND_MODULES = ("snd_hda_codec_generic", "snd_hda_intel")
_CHECKSUM_DIGITS = 12
_MORE_MODULES = "more-modules"  # a file with the names of modules that an addition brings
PLAYER = ROOT / "apps/player"
# The guest prints this line when its iperf server has ended. It starts the server again.
IPERF_ENDED = "linux: iperf has ended"
_LIBRARY_FOLDERS = ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib", "usr/lib")

_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
# Options of modules stand on the command line as MODULE.OPTION=VALUE, as modprobe expects them.
for module in {modules} $(cat /{more_modules} 2>/dev/null); do
    insmod /modules/$module $(tr ' ' '\\n' </proc/cmdline | sed -n "s/^${{module%.ko}}[.]//p")
done
for word in $(cat /proc/cmdline); do
    case $word in
        address=*) address=${{word#address=}} ;;
        gateway=*) gateway=${{word#gateway=}} ;;
        shell) shell=yes ;;
        serve=*) serve=$(echo "${{word#serve=}}" | tr , ' ') ;;
        run=*) run=$(echo "${{word#run=}}" | tr , ' ') ;;
    esac
done
ip link set lo up
if [ -e /sys/class/net/eth0 ]; then
    ip link set eth0 up
    if [ -z "$address" ]; then
        udhcpc -q -n -i eth0 -s /dhcp >/dev/null 2>&1 || echo "linux: DHCP gave no address"
    else
        ip addr add "$address/24" dev eth0
        if [ -n "$gateway" ]; then ip route add default via "$gateway"; fi
    fi
    address=$(ip -4 addr show dev eth0 | sed -n 's|.* inet \\([0-9.]*\\)/.*|\\1|p')
    if [ -n "$address" ]; then echo "linux: network up at $address"; fi
fi
if [ -n "$run" ]; then
    $run
    poweroff -f
fi
if [ -n "$serve" ]; then $serve & fi
while true; do
    iperf -s -f k
    echo "{iperf_ended}"
    sleep 1
done &
until netstat -ltn | grep -q ':5001 '; do sleep 0.1; done
echo "linux: ready"
while [ -n "$shell" ]; do setsid cttyhack sh; done
while true; do sleep 3600; done
"""

# udhcpc calls this when the address changes.
_DHCP = """#!/bin/sh
if [ "$1" = bound ]; then
    ip addr add "$ip/$mask" dev "$interface"
    if [ -n "$router" ]; then ip route add default via "${router%% *}"; fi
fi
"""


@dataclass(frozen=True)
class LinuxImage:
    """The files that QEMU boots."""

    kernel: Path
    initrd: Path


def prepare() -> LinuxImage:
    """Return the files with the ordinary kernel. Fetches and builds what is missing."""
    return _prepare(_FOLDER, distribution.current().kernel_package, "the Linux guest's packages")


def prepare_media(more_modules: Sequence[str] = ()) -> LinuxImage:
    """Return the files with the ordinary kernel, drivers of sound, and our player, /bin/player.

    The guest also loads `more_modules` of the kernel.
    """
    image = prepare()
    with lock.held(_FOLDER):
        image = with_program(image, "player", sorted(PLAYER.glob("*.c")), [])
        return with_modules(image, [*_SOUND_MODULES, *more_modules])


def prepare_real_time() -> LinuxImage | None:
    """Return the files with the PREEMPT_RT kernel, or None if the distribution has none."""
    package = distribution.current().real_time_kernel_package
    if package is None:
        return None
    return _prepare(_REAL_TIME_FOLDER, package, "the real-time Linux guest's packages")


def prepare_dax() -> LinuxImage:
    """Return the files with a kernel that can map memory by DAX: the ordinary one, or a later
    release's.
    """
    here = distribution.current()
    suite = distribution.KERNELS_WITH_DAX.get(here.codename)
    if suite is None:
        return prepare()
    what = f"{suite}'s Linux guest's packages"
    return _prepare(_DAX_FOLDER, here.kernel_package, what, suite)


def _prepare(folder: Path, package: str, what: str, suite: str | None = None) -> LinuxImage:
    with lock.held(folder):
        wanted = [Wanted(package, _KERNEL_PACKAGES), Wanted(_PROGRAMS)]
        root = arm64_packages.unpack(folder, f"{what} (arm64, 70 MB)", wanted, suite)
        image = LinuxImage(folder / "Image", folder / "initrd.gz")
        init = _INIT.encode() + Path(__file__).read_bytes()
        stamp = folder / "initrd.stamp"
        if not stamp.is_file() or stamp.read_bytes() != init:
            with console.progress("making the Linux guest's initramfs"):
                image.kernel.write_bytes(_kernel(root))
                image.initrd.write_bytes(gzip.compress(_initramfs(root), 6))
            stamp.write_bytes(init)
        return image


def with_program(
    image: LinuxImage,
    name: str,
    sources: Sequence[Path],
    includes: Sequence[Path],
    options: Sequence[str] = (),
) -> LinuxImage:
    """Return the image with a program of ours added, /bin/NAME.

    With run=/bin/NAME,ARGUMENT,... on the command line it runs instead of iperf, with
    serve=/bin/NAME,ARGUMENT,... it runs in addition to iperf. `options` are more options of the
    linker.
    """
    with tempfile.TemporaryDirectory() as temporary:
        program = Path(temporary) / name
        command = [
            "aarch64-linux-gnu-gcc", "-O2", "-static", "-std=gnu11", "-Wall", "-Wextra", "-Werror",
            *(f"-I{folder}" for folder in includes), *(str(source) for source in sources),
            *options, "-lm", "-o", str(program),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildFailure(done.stderr)
        return with_files(image, name, {f"bin/{name}": program.read_bytes()})


def with_script(image: LinuxImage, name: str, text: str) -> LinuxImage:
    """Return the image with a script of its shell, /bin/NAME: see with_program."""
    return with_files(image, name, {f"bin/{name}": f"#!/bin/sh\n{text}".encode()})


def with_modules(image: LinuxImage, names: Sequence[str]) -> LinuxImage:
    """Return the image with more modules of its kernel, which the guest loads."""
    modules = dict(_modules_in_order(image.initrd.parent / "root", names))
    files = {f"modules/{name}": content for name, content in modules.items()}
    files[_MORE_MODULES] = " ".join(modules).encode()
    return with_files(image, "-".join(names), files)


def with_cyclictest(image: LinuxImage) -> LinuxImage:
    """Return the image with cyclictest of the distribution's package rt-tests, /bin/cyclictest."""
    return _with_packaged(image, "usr/bin/cyclictest", _RT_TESTS_FOLDER, "rt-tests", _RT_TESTS)


def with_irqbalance(image: LinuxImage) -> LinuxImage:
    """Return the image with the distribution's irqbalance, /bin/irqbalance."""
    return _with_packaged(
        image, "usr/sbin/irqbalance", _IRQBALANCE_FOLDER, "irqbalance", _IRQBALANCE
    )


def with_udev(image: LinuxImage, rules: Path) -> LinuxImage:
    """Return the image with the distribution's udev, /bin/systemd-udevd and /bin/udevadm, and a
    file of rules."""
    made = _with_packaged(image, "bin/udevadm", _UDEV_FOLDER, "udev", _UDEV)
    # One program, which is the daemon under this name.
    daemon = _read(_UDEV_FOLDER / "root", "bin/udevadm")
    files = {"bin/systemd-udevd": daemon, f"etc/udev/rules.d/{rules.name}": rules.read_bytes()}
    return with_files(made, "rules", files)


def _with_packaged(
    image: LinuxImage, path: str, folder: Path, title: str, wanted: Wanted
) -> LinuxImage:
    """Return the image with a program of a package, in /bin, and the libraries that it lacks."""
    name = Path(path).name
    with lock.held(folder):
        root = arm64_packages.unpack(folder, f"{title} for arm64", [wanted])
    program = _read(root, path)
    needed = libraries(program, root, image.initrd.parent / "root")
    files = {f"lib/{library}": content for library, content in needed}
    return with_files(image, name, {f"bin/{name}": program, **files})


def with_files(image: LinuxImage, name: str, files: Mapping[str, bytes]) -> LinuxImage:
    """Return the image with more files, by their paths in the guest. All are executable.

    The name of the new initramfs has `name`, and a checksum of the content: two callers that give
    different files the same name at the same time do not write to one initramfs.
    """
    whole = image.initrd.read_bytes()
    # The kernel unpacks the archives in turn; each starts at a multiple of four bytes.
    content = whole + b"\0" * (-len(whole) % 4) + _pack(files)
    checksum = hashlib.sha256(content).hexdigest()[:_CHECKSUM_DIGITS]
    names = image.initrd.name.partition(".")[0]
    initrd = image.initrd.with_name(f"{names}-{name}.{checksum}")
    if not initrd.is_file():
        lock.write_whole(initrd, content)
    return LinuxImage(image.kernel, initrd)


def _kernel(root: Path) -> bytes:
    """Return the kernel as an uncompressed Image; some distributions compress it."""
    found = sorted(root.glob("boot/vmlinuz-*"))
    if not found:
        raise _lacks("kernel", root)
    content = found[-1].read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def _initramfs(root: Path) -> bytes:
    modules = dict(_modules_in_order(root, _MODULES))
    iperf = _read(root, "usr/bin/iperf")
    return _pack(
        {
            "bin/busybox": _read(root, "bin/busybox"),
            "usr/bin/iperf": iperf,
            "dhcp": _DHCP.encode(),
            "init": _INIT.format(
                modules=" ".join(modules), more_modules=_MORE_MODULES, iperf_ended=IPERF_ENDED
            ).encode(),
            **{f"modules/{name}": content for name, content in modules.items()},
            **{f"lib/{name}": content for name, content in libraries(iperf, root)},
        }
    )


def _lacks(what: str, root: Path) -> UserError:
    return UserError(
        f"the Linux guest's packages contain no {what}", f"remove {root} and call again"
    )


def _read(root: Path, path: str) -> bytes:
    for candidate in (root / path, root / "usr" / path):
        if candidate.is_file():
            return candidate.read_bytes()
    raise _lacks(path, root)


def libraries(program: bytes, *roots: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the shared libraries that a program needs, directly or indirectly, and the loader."""
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    waiting = ["ld-linux-aarch64.so.1"]
    done: set[str] = set()
    content = program
    while True:
        dynamic = ELFFile(io.BytesIO(content)).get_section_by_name(".dynamic")
        if isinstance(dynamic, DynamicSection):
            # pyelftools sets an attribute with the name of the tag.
            tags = (tag for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED")
            waiting += [str(tag.needed) for tag in tags]  # type: ignore[attr-defined]
        waiting = [name for name in waiting if name not in done]
        if not waiting:
            return
        name = waiting.pop(0)
        done.add(name)
        content = _library(name, roots)
        yield name, content


def _library(name: str, roots: Sequence[Path]) -> bytes:
    for path in (root / folder / name for root in roots for folder in _LIBRARY_FOLDERS):
        if path.is_file():
            return path.read_bytes()
    raise _lacks(name, roots[-1])


def _modules_in_order(root: Path, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield kernel modules, each after its dependencies, without those built into the kernel."""
    files = {
        re.sub(r"\.ko(\.\w+)?$", "", path.name).replace("-", "_"): path
        for path in root.rglob("*.ko*")
    }
    done: set[str] = set()

    def visit(name: str) -> Iterator[tuple[str, bytes]]:
        if name in done or name not in files:
            return
        done.add(name)
        content = _decompressed(files[name])
        for dependency in _module_dependencies(content):
            yield from visit(dependency)
        yield f"{name}.ko", content

    for name in names:
        yield from visit(name)


def _decompressed(path: Path) -> bytes:
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zst":
        command = [_program("zstd"), "-dcq", str(path)]
        return subprocess.run(command, check=True, capture_output=True).stdout
    return path.read_bytes()


def _module_dependencies(module: bytes) -> list[str]:
    from elftools.elf.elffile import ELFFile

    section = ELFFile(io.BytesIO(module)).get_section_by_name(".modinfo")
    entries = section.data().split(b"\0") if section is not None else []
    for entry in entries:
        if entry.startswith(b"depends="):
            names = entry.removeprefix(b"depends=").decode().split(",")
            return [name.replace("-", "_") for name in names if name]
    return []


def _pack(files: Mapping[str, bytes]) -> bytes:
    """Make an initramfs archive (cpio "newc") of executable files and the folders they are in.

    Times and inode numbers are 0, so that the same files make the same archive.
    """
    with tempfile.TemporaryDirectory(prefix="bulkhead-") as name:
        root = Path(name)
        for path, content in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        # A folder is unpacked before its content, so it stands before it.
        paths = sorted(root.rglob("*"))
        for each in paths:
            each.chmod(0o755)
            os.utime(each, (0, 0))
        names = "\0".join(str(each.relative_to(root)) for each in paths)
        done = subprocess.run(
            [
                _program("cpio"), "--create", "--format=newc", "--null", "--quiet",
                "--reproducible", "--owner=+0:+0",
            ],
            cwd=root, input=names.encode(), capture_output=True, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        raise BuildFailure(f"cpio failed: {done.stderr.decode(errors='replace')}")
    return done.stdout


def _program(name: str) -> str:
    found = packages.program(name)
    if found is None:
        raise UserError(f"{name} is missing (the Linux guest)", "call ./bulkhead setup bench")
    return found
