# SPDX-License-Identifier: BSD-2-Clause
"""Define the command line. Each command imports its module when it runs, so the start is fast."""

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from bulkhead.errors import EXIT_USER_ERROR, UserError, UserErrors
from bulkhead.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])
_PASSING_ON = ("run", "test")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(click.Group):
    """A group that lists its commands in the order of definition, and names them in an error."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of definition."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error for an unknown one names all commands."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise UserError(
                f"there is no command '{args[0]}'", f"the commands are: {', '.join(self.commands)}"
            )
        return super().resolve_command(ctx, args)


def _note_no_install(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Settings).no_install = True


def no_install(function: Function) -> Function:
    """Add the option --no-install, which is accepted before and after the command's name."""
    return click.option(
        "--no-install",
        is_flag=True,
        expose_value=False,
        callback=_note_no_install,
        help="Do not install system packages: print the command that would, and stop.",
    )(function)


def ends_at_signals(function: Function) -> Function:
    """End the command at a signal, without leaving machines, networks or temporary files."""

    @functools.wraps(function)
    def ended(*arguments: Any, **options: Any) -> Any:
        from bulkhead.running.ending import by_signals

        with by_signals():
            return function(*arguments, **options)

    return cast("Function", ended)


@click.group(cls=Commands, context_settings=_CONTEXT, invoke_without_command=True)
@no_install
@click.pass_context
def bulkhead(context: click.Context) -> None:
    """Bulkhead: a separation kernel, a real-time kernel and virtio drivers.

    This command builds, runs, tests and measures them. Each subcommand installs the packages that
    it needs when it first needs them.
    """
    context.ensure_object(Settings)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("groups", nargs=-1, metavar="[GROUP]...")
@no_install
@click.pass_obj
def setup(settings: Settings, groups: tuple[str, ...]) -> None:
    """Install the packages that the other commands need.

    Without GROUP, all groups except vhost-user, ring and browser are installed. The groups are:

    \b
    guest       building guest images with GCC
    host        building the libraries and unit tests for this machine
    clang       building with Clang
    arm32       building and running unit tests for a 32-bit processor
    check       checking systems whose partitions have VCPUs
    run         booting guests in QEMU
    device      tests of the driver on QEMU's device models
    model       exploring models of protocols
    tap         guests on tap devices, and their clients: curl, nc, iperf
    bench       the Linux guest, and the benches
    python      the Python package of channels
    firmware    firmware to boot behind: TF-A and U-Boot
    vhost-user  the driver with DPDK's vhost-user back-end
    ring        channels beside DPDK's rings
    browser     tests of pages in Chromium
    """
    from bulkhead.setup.install import setup as work

    work(groups, settings)


@bulkhead.command(context_settings=_CONTEXT)
@click.option(
    "--target",
    type=click.Choice(["host", "arm64", "all"]),
    default="all",
    show_default=True,
    help="Build for this machine (libraries, unit tests), the guest images, or both.",
)
@click.option(
    "--compiler", type=click.Choice(["gcc", "clang", "all"]), default="gcc", show_default=True,
    help="Build with this compiler, or with both.",
)  # fmt: skip
@click.option(
    "-D",
    "definitions",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a Meson option; meson_options.txt lists them.",
)
@no_install
@click.pass_obj
def build(settings: Settings, target: str, compiler: str, definitions: tuple[str, ...]) -> None:
    """Build the libraries and guest images into build/TARGET-COMPILER."""
    from bulkhead.building.build import build_all, variants

    options = {}
    for definition in definitions:
        name, separator, value = definition.partition("=")
        if not separator or not name:
            raise UserError(
                f"-D {definition} is not NAME=VALUE", "write for example -D optimization=3"
            )
        options[name] = value
    build_all(variants(target, compiler, options), settings)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="[NAME|FILE] [-- QEMU-ARGUMENT...]", default="demo")
@click.option("--system/--bare", default=True, show_default=True,
              help="NAME is a system (--system), or a program to boot without the hypervisor "
              "(--bare).")  # fmt: skip
@click.option(
    "--net",
    "network",
    type=click.Choice(["user", "tap"]),
    default="user",
    show_default=True,
    help="Connect guests to QEMU's user network with forwarded ports, or to tap devices in a "
    "network namespace (needs root).",
)
@click.option("--forward", "forwards", multiple=True, metavar="[PARTITION:]GUEST=HOST",
              help="Forward TCP port HOST of 127.0.0.1 to port GUEST of a guest, for example "
              "80=8081.")  # fmt: skip
@click.option("--transport", type=click.Choice(["pci", "mmio"]), default="pci", show_default=True,
              help="With --bare: the bus of the network device.")  # fmt: skip
@click.option("--rx-buffers", type=click.IntRange(1, 1024), metavar="N",
              help="With --bare: number of receive buffers to expose (default 8).")  # fmt: skip
@click.option("--wav", type=click.Path(path_type=Path), metavar="FILE",
              help="Write to FILE what the system's first sound device plays.")  # fmt: skip
@click.option("--compiler", type=click.Choice(["gcc", "clang"]), default="gcc", show_default=True,
              help="Boot the images that this compiler built.")  # fmt: skip
@no_install
@click.pass_obj
@ends_at_signals
def run(
    settings: Settings,
    name: str,
    system: bool,
    network: str,
    transport: str,
    rx_buffers: int | None,
    forwards: tuple[str, ...],
    wav: Path | None,
    compiler: str,
) -> int:
    """Build and boot a system (default: demo).

    NAME is a folder of systems/; FILE is a system file or its folder. The system demo consists of
    a control loop, a network guest with a status page, and Linux with a shell. The command prints
    how to reach each network service, and shows the partitions' output on the terminal. Press
    Ctrl-A X to quit. Arguments after -- are passed to QEMU.

    With --bare, NAME is a program of apps/, which runs without the hypervisor. Its exit status is
    the command's.
    """
    from bulkhead.running.reach import parse_forward
    from bulkhead.running.run import RunOptions

    options = RunOptions(
        name,
        compiler,
        network == "tap",
        transport,
        rx_buffers,
        [parse_forward(text) for text in forwards],
        settings.passed_on,
        wav,
    )
    if system:
        from bulkhead.running.run_system import run_system as work
    else:
        from bulkhead.running.run import run as work
    return work(options, settings)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="NAME|FILE")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE",
              help="Draw the map as an SVG image.")  # fmt: skip
@click.option("--dts", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Write the devicetree of each partition to FOLDER/PARTITION.dts.")  # fmt: skip
@click.option(
    "--overheads",
    is_flag=True,
    help="Print the time that the hypervisor and the kernel take, part by part.",
)
@no_install
@click.pass_obj
def check(
    settings: Settings, name: str, svg: Path | None, dts: Path | None, overheads: bool
) -> None:
    """Check a system file, and print the map of its cores and memory, the addresses and interrupts
    of each partition, and its VCPUs.

    NAME is a folder of systems/; FILE is a system file or its folder. Each error is one line, which
    names the file and the line in it. If there is no error, the command builds the images, because
    the map depends on their sizes.
    """
    from bulkhead.system.check_command import check_system

    check_system(name, svg, settings, shows_overheads=overheads, dts=dts)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="[NAME|FILE]", default="demo")
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the counters to this file, too.")  # fmt: skip
def stat(name: str, json_path: Path | None) -> None:
    """Print the exit counters of a running system, and its VCPUs.

    The default system is demo. An exit is a change from a guest to the hypervisor. The counters are
    the exits for each core and cause, refused accesses, and faults; for each VCPU the share of the
    processor that it is promised, and the share that it received. They are read from the machine's
    memory, without stopping any guest.
    """
    from bulkhead.inspecting.stat_system import stat_system
    from bulkhead.output_path import check_output_path

    check_output_path(json_path, "--json")
    stat_system(name, json_path)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="[NAME|FILE]", default="demo")
def top(name: str) -> None:
    """Show exit counts per core, and the VCPUs' shares, refreshed every second.

    The default system is demo. The system must be running. An exit is a change from a guest to the
    hypervisor. Press Ctrl-C to quit.
    """
    from bulkhead.inspecting.stat_system import top_system

    top_system(name)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="[NAME|FILE]", default="demo")
@click.option("--partition", metavar="PARTITION", help="Show the errors of this partition alone.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the records to this file, too.")  # fmt: skip
def log(name: str, partition: str | None, json_path: Path | None) -> None:
    """Print the errors of a running system's partitions, and what followed from each.

    The default system is demo. The log of a partition is in the hypervisor's memory, and outlives
    the partition. Only partitions with a table [partition.health] have one (docs/recovery.md).
    """
    from bulkhead.inspecting.log_command import log_system
    from bulkhead.output_path import check_output_path

    check_output_path(json_path, "--json")
    log_system(name, partition, json_path)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("action", metavar="list|create|start|stop|replace|destroy|crash|give")
@click.argument("name", metavar="[PARTITION|FUNCTION]", required=False)
@click.argument("to", metavar="[PARTITION]", required=False)
@click.option("--image", type=click.Path(path_type=Path), metavar="FILE",
              help="The image that replaces the partition's: an arm64 Image.")  # fmt: skip
@click.option("--system", metavar="NAME|FILE", default="managed", show_default=True,
              help="The running system.")  # fmt: skip
def partition(
    action: str, name: str | None, to: str | None, image: Path | None, system: str
) -> None:
    """Create, start, stop, replace, destroy or crash a partition of a running system.

    `crash` does what a panic of the guest does (docs/recovery.md). `give FUNCTION PARTITION` moves
    a PCI function between a partition and its standby.

    The system must have a manager, the partition that gives the orders to the hypervisor
    (docs/partitions.md). The other partitions continue. An image is checked before anything
    changes.
    """
    from bulkhead.managing.partition_command import partition_command

    partition_command(action, name, to, image, system)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="[NAME|FILE]", default="demo")
@click.option("--system/--bare", default=True, show_default=True,
              help="NAME is a system (--system), or a program that runs without the hypervisor "
              "(--bare).")  # fmt: skip
@click.option("--partition", metavar="PARTITION",
              help="Show the threads of this partition. Default: the shared cores, or the only "
              "partition with a trace.")  # fmt: skip
@click.option("--core", type=click.IntRange(min=0), metavar="CORE",
              help="Show this shared core alone.")  # fmt: skip
@click.option("--last", metavar="TIME",
              help="Show only the last part of the trace, for example 20ms.")  # fmt: skip
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE",
              help="Draw the timeline as an SVG image.")  # fmt: skip
@click.option("--perfetto", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the timeline in the format of ui.perfetto.dev.")  # fmt: skip
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the events as JSON.")  # fmt: skip
def trace(
    name: str,
    system: bool,
    partition: str | None,
    core: int | None,
    last: str | None,
    svg: Path | None,
    perfetto: Path | None,
    json_path: Path | None,
) -> None:
    """Show the schedule of a running system's shared cores, or of a guest's threads.

    The default system is demo. The latest events are read from the machine's memory, without
    stopping any guest. For each shared core the command prints how long each partition executed,
    how long it waited to, and why it stopped. A guest needs the boot argument trace=EVENTS: then
    its kernel keeps the latest events, and the command prints how long each thread ran and waited
    to run.
    """
    from bulkhead.tracing.trace_command import TraceOptions, trace_system

    trace_system(TraceOptions(name, not system, partition, last, svg, perfetto, json_path, core))


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("words", nargs=-1, metavar="[NAME|FILE] CLIENT")
@click.option("--output", default="-", metavar="FILE",
              help="Write to this file. Default: -, the standard output, for a pipe.")  # fmt: skip
@click.option("--count", type=click.IntRange(min=1), metavar="N",
              help="End after N frames.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S",
              help="End after S seconds.")  # fmt: skip
@click.option("--snap", type=click.IntRange(1, 65550), metavar="BYTES",
              help="Keep only the first bytes of each frame. Default: all.")  # fmt: skip
def capture(
    words: tuple[str, ...],
    output: str,
    count: int | None,
    seconds: float | None,
    snap: int | None,
) -> None:
    """Write the frames from and to a client of shared devices as a pcap file.

    CLIENT is a partition, or one of its shared devices, of a running system; the default system is
    shared-card. The partition that serves the device copies the frames for this command, as long as
    the command reads them. Example: ./bulkhead capture linux | tcpdump -r -
    """
    from bulkhead.capturing.capture_command import CaptureOptions, capture_system

    if not 1 <= len(words) <= 2:
        raise UserError("capture takes a system and a client", "write capture [NAME|FILE] CLIENT")
    system = words[0] if len(words) == 2 else "shared-card"
    capture_system(CaptureOptions(system, words[-1], output, count, seconds, snap or 0))


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("suites", nargs=-1, metavar="[SUITE]... [-- PYTEST-ARGUMENT...]")
@click.option(
    "--long",
    "long_",
    is_flag=True,
    help="Run also the tests that take minutes, and all combinations of parameters.",
)
@click.option(
    "--part",
    metavar="K/N",
    help="With --long: run the K-th of N parts of all tests, such as 3/8, but for the tests of the "
    "part that have passed on the same state of the tree.",
)
@click.option(
    "-k", "expression", metavar="EXPR", help="Run only the tests whose names match (pytest -k)."
)
@click.option(
    "--times", is_flag=True, help="Print how long each suite took, and its slowest tests."
)
@click.option("--changed", "base", is_flag=False, flag_value="HEAD", metavar="[BASE]",
              help="Run only the tests that a change since the commit BASE can affect. Default: "
              "HEAD.")  # fmt: skip
@click.option(
    "--list", "list_", is_flag=True, help="Print the files of the suites, and what each tests."
)
@no_install
@click.pass_obj
@ends_at_signals
def test(
    settings: Settings,
    suites: tuple[str, ...],
    long_: bool,
    part: str | None,
    expression: str | None,
    times: bool,
    base: str | None,
    list_: bool,
) -> int:
    """Build and run the tests.

    SUITE is a folder or file below tests/ (unit, vm, tools, ...). Without SUITE, all tests run.
    Arguments after -- are passed to pytest.
    """
    from bulkhead import test_listing, testing

    if list_:
        test_listing.show(suites)
        return 0
    testing.check_part(part, is_long=long_)
    chosen = [
        *(["--long"] if long_ else []),
        *([f"--part={part}"] if part else []),
        *(["--times"] if times else []),
        *(["-k", expression] if expression else []),
        *settings.passed_on,
    ]
    if base is not None:
        return testing.test_changed(base, suites, chosen, settings)
    return testing.test(suites, chosen, settings)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", required=False)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the results to this file as JSON.",
)
@click.option("--pairs", type=click.IntRange(1, 1000), default=5, show_default=True,
              help="How often each of the compared systems is measured.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(1, 3600), default=10, show_default=True,
              help="Duration of each timed measurement.")  # fmt: skip
@click.option("--guest", default="bulkhead", show_default=True,
              type=click.Choice(["bulkhead", "rtems", "rtems-legacy"]),
              help="With `paper`: the guest to measure. RTEMS must be installed.")  # fmt: skip
@click.option("--case", metavar="CASE", help="With `vcpu`: the only case to measure.")
@click.option("--keep", is_flag=True,
              help="With `counts`: write the figures to docs/figures.json.")  # fmt: skip
@no_install
@click.pass_obj
@ends_at_signals
def bench(
    settings: Settings,
    name: str | None,
    json_path: Path | None,
    pairs: int,
    seconds: float,
    guest: str,
    case: str | None,
    keep: bool,
) -> int:
    """Run a bench, or list the benches.

    NAME is the bench to run. Without NAME, the command lists the benches.

    `counts` runs the benches that count and measure no time, and compares each figure with
    the value in docs/figures.json and with its goal. The exit status is 1 if a figure moved or
    misses its goal.
    """
    from bulkhead.measuring import counts
    from bulkhead.measuring.bench import BenchContext, listing, run_bench

    if keep and name != counts.NAME:
        raise UserError("--keep applies to bench counts only", "remove it")
    if name is None:
        for each, shows in {**listing(), counts.NAME: counts.SHOWS}.items():
            click.echo(f"{each:12} {shows}")
        return 0
    if name == counts.NAME:
        return counts.run_counts(settings, json_path, pairs, seconds, keep=keep)
    run_bench(name, json_path, BenchContext(name, settings, pairs, seconds, guest, case))
    return 0


@bulkhead.command(context_settings=_CONTEXT)
@click.option("--faults", type=click.IntRange(1, 1_000_000), default=200, show_default=True,
              help="How many faults to inject.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True,
              help="The seed that the faults are drawn from.")  # fmt: skip
@click.option("--system", "systems", multiple=True, metavar="NAME|FILE",
              help="A system, whose first partition is the victim; can be given several times. "
              "Default: systems/campaign/direct and shared.")  # fmt: skip
@click.option("--resume", is_flag=True,
              help="Continue a campaign: run only the faults that have no result yet.")  # fmt: skip
@click.option("--replay", type=click.IntRange(min=0), metavar="FAULT",
              help="Run this fault alone, and print the console from then on.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N",
              help="Number of machines at the same time. Default: that of processors.")  # fmt: skip
@click.option("--results", "results_path", type=click.Path(path_type=Path), metavar="FILE",
              help="The file for the results. Default: build/campaign/results.jsonl.")  # fmt: skip
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the figures and all outcomes to this file.")  # fmt: skip
@no_install
@click.pass_obj
@ends_at_signals
def campaign(
    settings: Settings,
    faults: int,
    seed: int,
    systems: tuple[str, ...],
    resume: bool,
    replay: int | None,
    jobs: int | None,
    results_path: Path | None,
    json_path: Path | None,
) -> int:
    """Inject faults into a partition from outside, and judge what follows.

    Faults hit memory, registers, rings and the device of the victim, at instants drawn from the
    seed. Each fault has a machine of its own, and is the same in each run. For each fault the
    command records whether it was used, noticed, contained, and recovered from. It writes a page
    with a table and plots to build/campaign. The exit status is 1 if a fault was not contained.
    """
    from bulkhead.campaign.campaign_command import CampaignOptions
    from bulkhead.campaign.campaign_command import campaign as work
    from bulkhead.campaign.runner import SYSTEMS

    options = CampaignOptions(
        faults, seed, systems or SYSTEMS, resume, replay, jobs, results_path, json_path
    )
    return work(options, settings)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="NAME|FILE")
@click.option("--cache", metavar="SIZE,WAYS,LINE", default="1 MiB,16,64", show_default=True,
              help="The last-level cache, which all cores share. A line is in bytes.")  # fmt: skip
@click.option("--private", metavar="SIZE,WAYS,LINE", default="32 KiB,4,64", show_default=True,
              help="The instruction cache and the data cache of each core.")  # fmt: skip
@click.option("--tlb", metavar="ENTRIES,WAYS", default="512,4", show_default=True,
              help="The TLB of each core.")  # fmt: skip
@click.option("--replacement", type=click.Choice(["lru", "plru", "random"]), default="lru",
              show_default=True, help="Which line of a set leaves for a new one.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, (1 << 64) - 1), default=1, show_default=True,
              help="The seed of --replacement random.")  # fmt: skip
@click.option("--skip", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
              help="Begin to count after N instructions of all cores.")  # fmt: skip
@click.option("--instructions", type=click.IntRange(min=1), default=100_000_000, metavar="N",
              show_default=True, help="Count during N instructions of all cores.")  # fmt: skip
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE",
              help="Draw the lines of each owner in each set as an SVG image.")  # fmt: skip
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write all counts to this file.")  # fmt: skip
@no_install
@click.pass_obj
@ends_at_signals
def cache(
    settings: Settings,
    name: str,
    cache: str,
    private: str,
    tlb: str,
    replacement: str,
    seed: int,
    skip: int,
    instructions: int,
    svg: Path | None,
    json_path: Path | None,
) -> None:
    """Count whose cache lines a system's partitions evict, in a model of the memory system.

    NAME is a folder of systems/; FILE is a system file or its folder. The system runs in QEMU, and
    each access goes through modelled caches and TLBs (docs/memory-model.md). The command prints for
    the memory of each partition its hits and misses, and how many of its lines left the shared
    cache for lines of each other partition. Each run gives the same counts. They are numbers of
    accesses, not times.
    """
    from bulkhead.memory_model.cache_command import CacheOptions, count_cache
    from bulkhead.memory_model.run import Counted

    counted = Counted(instructions, skipped=skip, seed=seed)
    count_cache(
        CacheOptions(name, cache, private, tlb, replacement, counted, svg, json_path), settings
    )


@bulkhead.command(context_settings=_CONTEXT)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the results to this file as JSON.",
)
@no_install
@click.pass_obj
@ends_at_signals
def size(settings: Settings, json_path: Path | None) -> None:
    """Measure sizes of code and memory.

    These are the memory of the driver, the code of the hypervisor and of the demo, and the
    translation tables of a partition.
    """
    from bulkhead.measuring.size import size as work

    work(json_path, settings)


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status.

    An error that the user can correct is one line on stderr.
    """
    try:
        own, settings = _split_passed_on(list(arguments))
        result = bulkhead.main(own, prog_name="./bulkhead", standalone_mode=False, obj=settings)
        return result if isinstance(result, int) else 0
    except (UserError, UserErrors) as error:
        return max(_report(line) for line in str(error).splitlines())
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "./bulkhead"
        return _report(f"{error.format_message().rstrip('.')}; '{where} --help' lists the options")
    except click.ClickException as error:
        return _report(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return 130
    except Exception as error:
        return _report_failure(error)


def _split_passed_on(arguments: list[str]) -> tuple[list[str], Settings]:
    """Split off the arguments after --, which are for the program that the command starts."""
    if "--" not in arguments:
        return arguments, Settings()
    index = arguments.index("--")
    own, passed_on = arguments[:index], arguments[index + 1 :]
    command = next((word for word in own if word in bulkhead.commands), None)
    if command not in _PASSING_ON:
        raise UserError("only run and test take arguments after --", "remove them")
    return own, Settings(passed_on=tuple(passed_on))


def _report(text: str) -> int:
    print(f"bulkhead: {' '.join(text.split())}", file=sys.stderr)
    return EXIT_USER_ERROR


def _report_failure(error: Exception) -> int:
    """Print the messages of a failed build or guest; raise any other error with its traceback."""
    from bulkhead.building.build import BuildFailure
    from bulkhead.running.guest import GuestError

    if not isinstance(error, BuildFailure | GuestError):
        raise error
    print(error, file=sys.stderr)
    what = "the build" if isinstance(error, BuildFailure) else "the guest"
    print(f"bulkhead: {what} failed; see above", file=sys.stderr)
    return 1
