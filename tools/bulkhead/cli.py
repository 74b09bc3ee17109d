# SPDX-License-Identifier: BSD-2-Clause
"""The command line: parses, and leaves the work to modules imported when needed (a fast start)."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from bulkhead.errors import EXIT_USER_ERROR, UserError, UserErrors
from bulkhead.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])
_PASSING_ON = ("run", "test")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(click.Group):
    """A group that keeps its commands in order and names them to those who mistype one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or say which there are."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise UserError(
                f"there is no command '{args[0]}'", f"the commands are: {', '.join(self.commands)}"
            )
        return super().resolve_command(ctx, args)


def _note_no_install(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Settings).no_install = True


def no_install(function: Function) -> Function:
    """The option --no-install, taken before and after the command's name."""
    return click.option(
        "--no-install",
        is_flag=True,
        expose_value=False,
        callback=_note_no_install,
        help="Never install system packages: print what to type, and stop.",
    )(function)


@click.group(cls=Commands, context_settings=_CONTEXT, invoke_without_command=True)
@no_install
@click.pass_context
def bulkhead(context: click.Context) -> None:
    """Bulkhead: a separation kernel, a real-time kernel and virtio drivers.

    Builds, runs, tests and measures them. What a command needs is installed when it is first
    needed.
    """
    context.ensure_object(Settings)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("groups", nargs=-1, metavar="[GROUP]...")
@no_install
@click.pass_obj
def setup(settings: Settings, groups: tuple[str, ...]) -> None:
    """Install ahead of time what the other commands need.

    Without GROUP, everything but vhost-user. Groups: guest, host, clang, run, device, tap, test,
    bench, vhost-user (DPDK).
    """
    from bulkhead.setup.install import setup as work

    work(groups, settings)


@bulkhead.command(context_settings=_CONTEXT)
@click.option(
    "--target",
    type=click.Choice(["host", "arm64", "all"]),
    default="all",
    show_default=True,
    help="This machine (libraries, unit tests), or guest images.",
)
@click.option(
    "--compiler", type=click.Choice(["gcc", "clang", "all"]), default="gcc", show_default=True
)
@click.option(
    "-D",
    "definitions",
    multiple=True,
    metavar="NAME=VALUE",
    help="A Meson option; see meson_options.txt.",
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
                f"-D {definition} is no NAME=VALUE", "write for example -D optimization=3"
            )
        options[name] = value
    build_all(variants(target, compiler, options), settings)


@bulkhead.command(context_settings=_CONTEXT, options_metavar="[OPTIONS] [-- QEMU-ARGUMENT...]")
@click.argument("name", metavar="[NAME|FILE]", default="demo")
@click.option("--system/--bare", default=True, show_default=True,
              help="Whether NAME is a system, or a program to boot alone.")  # fmt: skip
@click.option(
    "--net",
    "network",
    type=click.Choice(["user", "tap"]),
    default="user",
    show_default=True,
    help="QEMU's user network with forwarded ports, or taps in a network namespace (root).",
)
@click.option("--forward", "forwards", multiple=True, metavar="[PARTITION:]GUEST=HOST",
              help="Forward a port of 127.0.0.1 to a guest's TCP port, e.g. 80=8081.")  # fmt: skip
@click.option("--transport", type=click.Choice(["pci", "mmio"]), default="pci", show_default=True,
              help="How the network device of a --bare program is attached.")  # fmt: skip
@click.option("--rx-buffers", type=click.IntRange(1, 1024), metavar="N",
              help="Receive buffers that a --bare program exposes; 8, if not said.")  # fmt: skip
@click.option("--compiler", type=click.Choice(["gcc", "clang"]), default="gcc", show_default=True,
              help="Whose images to boot.")  # fmt: skip
@no_install
@click.pass_obj
def run(
    settings: Settings,
    name: str,
    system: bool,
    network: str,
    transport: str,
    rx_buffers: int | None,
    forwards: tuple[str, ...],
    compiler: str,
) -> int:
    """Build and boot a system of systems/, or a system file: demo, if none is named.

    The demo is a control loop, a network guest with a status page, and Linux with a shell, side by
    side. What is reached where is printed. The partitions' lines are on the terminal; leave with
    Ctrl-A X. What follows -- goes to QEMU.

    With --bare, NAME is a program of apps/, which has the machine alone; the exit status is its.
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
    )
    if system:
        from bulkhead.running.run_system import run_system as work
    else:
        from bulkhead.running.run import run as work
    return work(options, settings)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="NAME|FILE")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE",
              help="Draw the map there.")  # fmt: skip
@no_install
@click.pass_obj
def check(settings: Settings, name: str, svg: Path | None) -> None:
    """Check a system of systems/, or a system file; print its map of cores and memory.

    Every error is a line that names the place in the file. The images of a system without errors
    are built, since the map depends on their sizes.
    """
    from bulkhead.system.check_command import check_system

    check_system(name, svg, settings)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="[NAME|FILE]", default="demo")
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the counters there, too.")  # fmt: skip
def stat(name: str, json_path: Path | None) -> None:
    """Print what the hypervisor counted of a running system: of demo, if none is named.

    Exits by core and cause, accesses refused, faults. They are read through the machine's memory:
    no guest notices.
    """
    from bulkhead.measuring.bench import check_output_path
    from bulkhead.running.stat_system import stat_system

    check_output_path(json_path, "--json")
    stat_system(name, json_path)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("name", metavar="[NAME|FILE]", default="demo")
def top(name: str) -> None:
    """Show the same live, with each second's exits; Ctrl-C ends it."""
    from bulkhead.running.stat_system import top_system

    top_system(name)


@bulkhead.command(context_settings=_CONTEXT)
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@click.option(
    "--long",
    "long_",
    is_flag=True,
    help="Also the tests that take minutes, and all combinations of parameters.",
)
@click.option(
    "-k", "expression", metavar="EXPR", help="Only the tests whose names match (pytest -k)."
)
@click.option("--times", is_flag=True, help="Print what each suite took, and its slowest tests.")
@click.option("--changed", "base", is_flag=False, flag_value="HEAD", metavar="[BASE]",
              help="Only the tests that a change since the commit BASE can reach; HEAD, if none is "
              "named.")  # fmt: skip
@no_install
@click.pass_obj
def test(
    settings: Settings,
    suites: tuple[str, ...],
    long_: bool,
    expression: str | None,
    times: bool,
    base: str | None,
) -> int:
    """Build what the tests need and run them.

    SUITE is a folder or file below tests/ (unit, vm, tools, ...); all, if none is named. What
    follows -- goes to pytest.
    """
    from bulkhead import testing

    chosen = [
        *(["--long"] if long_ else []),
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
    help="Write the numbers there.",
)
@click.option("--pairs", type=click.IntRange(1, 1000), default=5, show_default=True,
              help="How often two systems are measured in turn.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(1, 3600), default=10, show_default=True,
              help="How long each timed measurement takes.")  # fmt: skip
@click.option("--guest", default="bulkhead", show_default=True,
              type=click.Choice(["bulkhead", "rtems", "rtems-legacy"]),
              help="Whose network paper measures; RTEMS is yours.")  # fmt: skip
@no_install
@click.pass_obj
def bench(
    settings: Settings,
    name: str | None,
    json_path: Path | None,
    pairs: int,
    seconds: float,
    guest: str,
) -> None:
    """Run the bench NAME; without NAME, list the benches."""
    from bulkhead.measuring.bench import BenchContext, listing, run_bench

    if name is None:
        for each, shows in listing().items():
            click.echo(f"{each:12} {shows}")
        return
    run_bench(name, json_path, BenchContext(name, settings, pairs, seconds, guest))


@bulkhead.command(context_settings=_CONTEXT)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the numbers there.",
)
@no_install
@click.pass_obj
def size(settings: Settings, json_path: Path | None) -> None:
    """Measure the memory of the driver, the code of the hypervisor, and translation tables."""
    from bulkhead.measuring.size import size as work

    work(json_path, settings)


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit status. Whatever the user can put right is one line on stderr."""
    try:
        own, settings = _split_passed_on(list(arguments))
        result = bulkhead.main(own, prog_name="./bulkhead", standalone_mode=False, obj=settings)
        return result if isinstance(result, int) else 0
    except (UserError, UserErrors) as error:
        return max(_report(line) for line in str(error).splitlines())
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "./bulkhead"
        return _report(f"{error.format_message().rstrip('.')}; '{where} --help' tells the options")
    except click.ClickException as error:
        return _report(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return 130
    except Exception as error:
        return _report_failure(error)


def _split_passed_on(arguments: list[str]) -> tuple[list[str], Settings]:
    """Part what follows -- from our own arguments: it is for the program the command starts."""
    if "--" not in arguments:
        return arguments, Settings()
    index = arguments.index("--")
    own, passed_on = arguments[:index], arguments[index + 1 :]
    command = next((word for word in own if word in bulkhead.commands), None)
    if command not in _PASSING_ON:
        raise UserError("only run and test take arguments after --", "leave them out")
    return own, Settings(passed_on=tuple(passed_on))


def _report(text: str) -> int:
    print(f"bulkhead: {' '.join(text.split())}", file=sys.stderr)
    return EXIT_USER_ERROR


def _report_failure(error: Exception) -> int:
    """The messages of a build or a guest are the report; all else is ours, with its traceback."""
    from bulkhead.building.build import BuildFailure
    from bulkhead.running.guest import GuestError

    if not isinstance(error, BuildFailure | GuestError):
        raise error
    print(error, file=sys.stderr)
    what = "the build" if isinstance(error, BuildFailure) else "the guest"
    print(f"bulkhead: {what} failed; see above", file=sys.stderr)
    return 1
