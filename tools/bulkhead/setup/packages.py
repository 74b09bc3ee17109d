# SPDX-License-Identifier: BSD-2-Clause
"""List the programs and files that we need from the system, and the packages that contain them."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.settings import Settings
from bulkhead.setup import apt, distribution, qemu_program

# /usr/sbin and /sbin are not in every user's PATH.
_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

# Of the package u-boot-qemu: U-Boot for the machine `virt` of QEMU, at EL2 behind TF-A.
U_BOOT = Path("/usr/lib/u-boot/qemu_arm64/u-boot.bin")

GROUPS = {
    "guest": "building guest images with GCC",
    "host": "building the libraries and unit tests for this machine",
    "clang": "building with Clang",
    "arm32": "the driver library's unit tests on a processor of 32 bits",
    "check": "testing whether a core has room for its VCPUs",
    "run": "booting guests in QEMU",
    "device": "the driver on QEMU's device models",
    "model": "exploring models of protocols",
    "tap": "guests on a network namespace of their own",
    "bench": "the Linux guest, and the benches",
    "python": "the Python package of channels",
    "firmware": "firmware to boot behind: TF-A and U-Boot",
    "vhost-user": "the driver as a vhost-user front-end, beside DPDK's",
    "ring": "channels beside DPDK's rings",
    "browser": "pages in a browser",
    "httperf": "a load of HTTP requests",
}
# Installed only if named, or for the tests that need them: large, and used by few tests.
GROUPS_ON_REQUEST = frozenset({"vhost-user", "ring", "browser", "httperf"})


@dataclass(frozen=True)
class Need:
    """A program or file that some groups need.

    `is_there` returns True if it is installed, `package` returns the packages that contain it.
    """

    name: str
    groups: frozenset[str]
    is_there: Callable[[], bool]
    package: Callable[[], apt.Packages]


def program(name: str) -> str | None:
    """Return the path of a program, or None if it is not installed."""
    return shutil.which(name, path=_PATH)


def _program(name: str, package: str, *groups: str) -> Need:
    return Need(
        name, frozenset(groups), lambda: program(name) is not None, lambda: apt.Packages((package,))
    )


def arm_emulator() -> str | None:
    """Return the path of the emulator for programs of 32-bit Arm Linux, or None.

    Debian's package qemu-user would remove a user's qemu-user-static, which serves as well.
    """
    return program("qemu-arm") or program("qemu-arm-static")


def _header(name: str, package: str, *groups: str) -> Need:
    def is_there() -> bool:
        return any(
            folder.joinpath(name).is_file()
            for folder in (
                Path("/usr/local/include"),
                Path("/usr/include"),
                *Path("/usr/include").glob("*-linux-gnu"),
            )
        )

    return Need(name, frozenset(groups), is_there, lambda: apt.Packages((package,)))


def _ask_clang(option: str) -> str | None:
    """Return the compiler's answer to an option, or None.

    The path says nothing about the release: `clang` may be a link to a compiler cache.
    """
    clang = program("clang")
    if clang is None:
        return None
    try:
        done = subprocess.run([clang, option], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _clang_runtime_is_there() -> bool:
    resources = _ask_clang("-print-resource-dir")
    return resources is not None and any(Path(resources).glob("lib/*/libclang_rt.asan*.a"))


def _clang_runtime_package() -> apt.Packages:
    version = _ask_clang("-dumpversion")
    if version is None:
        return apt.Packages(("libclang-rt-dev",))
    return apt.Packages((f"libclang-rt-{version.split('.')[0]}-dev",))


def _qemu_package(name: str) -> apt.Packages:
    codename = distribution.current().codename
    suite = f"{codename}-backports" if codename in distribution.QEMU_FROM_BACKPORTS else None
    return apt.Packages((name,), suite)


NEEDS = (
    _program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", "guest"),
    _program("meson", "meson", "guest", "host"),
    _program("ninja", "ninja-build", "guest", "host"),
    _program("tar", "tar", "guest", "host"),
    _program("xz", "xz-utils", "guest", "host"),
    _program("gcc", "gcc", "host", "check", "firmware"),
    _header("stdio.h", "libc6-dev", "host", "firmware"),
    _header("cmocka.h", "libcmocka-dev", "host"),
    Need(
        "Python.h",
        frozenset({"python"}),
        lambda: Path(sysconfig.get_path("include"), "Python.h").is_file(),
        lambda: apt.Packages(("python3-dev",)),
    ),
    _program("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf", "arm32"),
    Need(
        "libc.a for armhf",
        frozenset({"arm32"}),
        lambda: Path("/usr/arm-linux-gnueabihf/lib/libc.a").is_file(),
        lambda: apt.Packages(("libc6-dev-armhf-cross",)),
    ),
    Need(
        "qemu-arm or qemu-arm-static",
        frozenset({"arm32"}),
        lambda: arm_emulator() is not None,
        lambda: apt.Packages(("qemu-user",)),
    ),
    _program("clang", "clang", "clang"),
    _program("ld.lld", "lld", "clang"),
    Need(
        "Clang's sanitizers", frozenset({"clang"}), _clang_runtime_is_there, _clang_runtime_package
    ),
    Need(
        qemu_program.PROGRAM,
        frozenset({"run", "device"}),
        qemu_program.is_usable,
        lambda: _qemu_package("qemu-system-arm"),
    ),
    Need(
        qemu_program.X86_PROGRAM,
        frozenset({"device"}),
        lambda: qemu_program.is_usable(qemu_program.X86_PROGRAM),
        lambda: _qemu_package("qemu-system-x86"),
    ),
    _program("dtc", "device-tree-compiler", "host", "guest"),
    _program("spin", "spin", "model"),
    _program("ip", "iproute2", "tap"),
    _program("dnsmasq", "dnsmasq-base", "tap"),
    _program("ping", "iputils-ping", "tap"),
    _program("curl", "curl", "tap"),
    _program("nc", "netcat-openbsd", "tap"),
    _program("iperf", "iperf", "tap", "bench"),
    _program("dpkg-deb", "dpkg", "bench"),
    Need(
        "libc.a for arm64",
        frozenset({"bench"}),
        lambda: Path("/usr/aarch64-linux-gnu/lib/libc.a").is_file(),
        lambda: apt.Packages(("libc6-dev-arm64-cross",)),
    ),
    _program("zstd", "zstd", "bench"),
    _program("cpio", "cpio", "bench"),
    _program("make", "make", "firmware"),
    _header("openssl/sha.h", "libssl-dev", "firmware"),
    Need(
        "U-Boot for QEMU",
        frozenset({"firmware"}),
        U_BOOT.is_file,
        lambda: apt.Packages(("u-boot-qemu",)),
    ),
    _program("dpdk-testpmd", "dpdk-dev", "vhost-user"),
    _header("dpdk/rte_ring.h", "libdpdk-dev", "ring"),
    _program("pkg-config", "pkgconf", "ring"),
    _program("httperf", "httperf", "httperf"),
    _program("chromium", "chromium", "browser"),
    Need(
        "a font",
        frozenset({"browser"}),
        lambda: any(Path("/usr/share/fonts").rglob("*.ttf")),
        lambda: apt.Packages(("fonts-dejavu-core",)),
    ),
)


def missing(groups: Iterable[str]) -> list[Need]:
    """Return the needs of some groups that this machine lacks."""
    wanted = set(groups)
    return [need for need in NEEDS if need.groups & wanted and not need.is_there()]


def batches(needs: Iterable[Need]) -> list[apt.Packages]:
    """Return the packages of some needs, in one batch for each suite."""
    by_suite: dict[str | None, list[str]] = {}
    for need in needs:
        package = need.package()
        names = by_suite.setdefault(package.suite, [])
        names += [name for name in package.names if name not in names]
    return [apt.Packages(tuple(names), suite) for suite, names in by_suite.items()]


def ensure(groups: Iterable[str], settings: Settings) -> list[str]:
    """Install all that some groups need and that is missing. Returns the installed needs' names.

    Raises UserError if it may not install.
    """
    wanted = list(groups)
    if "run" in wanted:
        qemu_program.check_override()
    needs = missing(wanted)
    if not needs:
        return []
    lacking = _describe_all(needs)
    if settings.no_install or not apt.may_install():
        raise UserError(lacking, apt.advice(batches(needs)))
    apt.install(batches(needs))
    left = missing(wanted)
    if left:
        fix = "see build/install.log"
        if any(need.name == qemu_program.PROGRAM for need in left):
            fix += f", or point {qemu_program.VARIABLE} at a newer QEMU"
        raise UserError(f"after installing, {_describe_all(left)}", fix)
    return [need.name for need in needs]


def _describe_all(needs: Sequence[Need]) -> str:
    names = [need.name for need in needs if need.name != qemu_program.PROGRAM]
    parts = [qemu_program.describe_lack()] if len(names) < len(needs) else []
    if names:
        parts.append(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} missing")
    return ", ".join(parts)
