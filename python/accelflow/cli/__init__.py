"""The command line. Each file of this package holds one command; `main` is the entry point.

To add a command, write `python/accelflow/cli/NAME.py` with a click command and list it in
:data:`COMMANDS`. Commands raise :class:`accelflow.errors.AccelflowError`; they never print an
error or exit by themselves.
"""

import sys
from collections.abc import Sequence

import click

import accelflow
from accelflow.cli.accelerometer import accelerometer
from accelflow.cli.arcus import arcus
from accelflow.cli.area import area
from accelflow.cli.cerebros import cerebros
from accelflow.cli.companions import companions
from accelflow.cli.compare import compare
from accelflow.cli.explain import explain
from accelflow.cli.failure import run
from accelflow.cli.fit import fit_command
from accelflow.cli.power import power
from accelflow.cli.profile import profile
from accelflow.cli.record import record
from accelflow.cli.relief_suite import relief_suite
from accelflow.cli.reproduce import reproduce_command
from accelflow.cli.service import service
from accelflow.cli.trace import trace

__all__ = ["COMMANDS", "main"]

#: Every command of `accelflow`, in the order in which `accelflow --help` lists them.
COMMANDS: tuple[click.Command, ...] = (
    compare,
    reproduce_command,
    fit_command,
    record,
    trace,
    service,
    explain,
    accelerometer,
    profile,
    cerebros,
    arcus,
    companions,
    area,
    power,
    relief_suite,
)


class _InOrder(click.Group):
    """A group whose help lists the commands as they were added, not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_InOrder,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(accelflow.__version__, prog_name="accelflow", message="%(prog)s %(version)s")
def program() -> None:
    """Run, time and compare ensembles of fine-grained accelerators for the datacenter tax."""


for _command in COMMANDS:
    program.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with `arguments` (default: those of the process) and exit."""
    sys.exit(run(program, sys.argv[1:] if arguments is None else arguments))
