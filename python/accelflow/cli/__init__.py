"""The command line; `main` is the entry point.

A file of this package holds one command or group, or parts that several commands share.

To add a command, write `python/accelflow/cli/NAME.py` with a click command and list it in
:data:`COMMANDS`. Commands raise :class:`accelflow.errors.AccelflowError` for a failure; they never
print an error or end the process by themselves. A command's file is imported only when the command
is used, so that `--help` and shell completion stay fast.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

import accelflow
from accelflow.cli.failure import INTERRUPTED, TERMINATED, run
from accelflow.cli.interrupts import ends_at_sigterm, leave, terminated
from accelflow.cli.listing import write_commands
from accelflow.cli.naming import naming_options

__all__ = ["COMMANDS", "Listed", "main", "program"]

#: The environment variable that a shell sets to ask for completions (docs/command-line.md).
COMPLETE_VARIABLE: Final = "_ACCELFLOW_COMPLETE"


@dataclass(frozen=True)
class Listed:
    """One entry of the list of commands that `accelflow --help` shows.

    `name` is the command's name, `file` its module in this package, and `attribute` the click
    command in that module. `help` repeats the first line of the command's own help, so that
    `accelflow --help` does not import the module.
    """

    name: str
    file: str
    attribute: str
    help: str

    def load(self) -> click.Command:
        """Import the command's module and return the command."""
        module = importlib.import_module(f"accelflow.cli.{self.file}")
        command: click.Command = getattr(module, self.attribute)
        return command


#: Every command of `accelflow`, in the order in which `accelflow --help` lists them.
COMMANDS: Final[tuple[Listed, ...]] = (
    Listed(
        "compare",
        "compare",
        "compare",
        "Compare orchestrators on WORKLOAD and write table, files and plot.",
    ),
    Listed(
        "report",
        "report",
        "report",
        "Write the report page of RESULTS, a JSON file of `accelflow compare`.",
    ),
    Listed(
        "size",
        "size",
        "size",
        "Size a fleet: servers, watts and money under each system.",
    ),
    Listed(
        "sweep",
        "sweep",
        "sweep",
        "Simulate the points of a study that have no results in its folder yet.",
    ),
    Listed(
        "find",
        "find",
        "find",
        "Find a parameter's least or greatest value that meets limits, or the cheapest design.",
    ),
    Listed(
        "reproduce",
        "reproduce",
        "reproduce_command",
        "Run the paper's experiments and compare the results.",
    ),
    Listed(
        "readings",
        "readings",
        "readings",
        "Show how results change with each reading of the paper.",
    ),
    Listed(
        "fit",
        "fit",
        "fit_command",
        "Fit assumed parameters to numbers of the paper's Fig. 11.",
    ),
    Listed(
        "record",
        "record",
        "record",
        "Record the cost of each step of live requests.",
    ),
    Listed(
        "predict",
        "predict",
        "predict",
        "Compare forecasts of a server's response times with measured ones.",
    ),
    Listed(
        "import",
        "import_",
        "import_command",
        "Make workloads from traces, tables and profiles.",
    ),
    Listed(
        "why",
        "why",
        "why",
        "Explain why slow requests to SERVICE take longer than the median ones.",
    ),
    Listed(
        "timeline",
        "timeline",
        "timeline",
        "Draw recorded requests as timelines for Perfetto.",
    ),
    Listed(
        "trace",
        "trace",
        "trace",
        "Show traces: source, graph, words and trace memory, and the path of a request.",
    ),
    Listed(
        "service",
        "service",
        "service",
        "Show services: their paths through traces and CPU phases.",
    ),
    Listed("chip", "chips", "chip_command", "List, show and write chips."),
    Listed(
        "explain",
        "explain",
        "explain",
        "Explain the parameter KEY, or list all: default, allowed values, origin.",
    ),
    Listed("schema", "schema", "schema", "Print the JSON Schema of a kind of file."),
    Listed(
        "accelerometer",
        "accelerometer",
        "accelerometer",
        "Estimate the gain of offloading a service's kernels.",
    ),
    Listed(
        "profile",
        "profile",
        "profile",
        "Sort a profile into Accelerometer's categories.",
    ),
    Listed(
        "cerebros",
        "cerebros",
        "cerebros",
        "Compute the RPC layer's cycles under Cerebros's designs.",
    ),
    Listed(
        "arcus",
        "arcus",
        "arcus",
        "Shape the traffic of tenants who share accelerators.",
    ),
    Listed(
        "companions",
        "companions",
        "companions",
        "Compute the results of a companion paper.",
    ),
    Listed(
        "area",
        "area",
        "area",
        "Print the area of cores, accelerators and orchestration hardware.",
    ),
    Listed(
        "power",
        "power",
        "power",
        "Print maximum power, or the energy of simulated runs.",
    ),
    Listed(
        "relief-suite",
        "relief_suite",
        "relief_suite",
        "Compare AccelFlow's throughput with RELIEF's for RELIEF's five applications.",
    ),
    Listed(
        "doctor",
        "doctor",
        "doctor",
        "Check the installation, and tell how to get what is missing.",
    ),
    Listed(
        "completion",
        "completion",
        "completion",
        "Print the script that completes `accelflow` in SHELL.",
    ),
)


class _Lazy(click.Group):
    """A group that imports each command when it is used and lists the commands as in COMMANDS."""

    def list_commands(self, _: click.Context) -> list[str]:
        return [listed.name for listed in COMMANDS]

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        found = next((listed for listed in COMMANDS if listed.name == name), None)
        return None if found is None else naming_options(found.load())

    def invoke(self, ctx: click.Context) -> Any:
        from accelflow.cli.doubts import each_once  # noqa: PLC0415 (only commands that run need it)

        with each_once():
            return super().invoke(ctx)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(formatter, ((listed.name, listed.help) for listed in COMMANDS))


@click.group(
    cls=_Lazy,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(accelflow.__version__, prog_name="accelflow", message="%(prog)s %(version)s")
def program() -> None:
    """Run, time and compare ensembles of fine-grained accelerators for the datacenter tax."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with `arguments` (default: ``sys.argv[1:]``) and exit."""
    instruction = os.environ.get(COMPLETE_VARIABLE)
    if instruction is not None:
        from click.shell_completion import shell_complete  # noqa: PLC0415 (only shells ask)

        sys.exit(shell_complete(program, {}, "accelflow", COMPLETE_VARIABLE, instruction))
    ends_at_sigterm()
    code = run(program, sys.argv[1:] if arguments is None else arguments)
    leave(TERMINATED if code == INTERRUPTED and terminated() else code)
