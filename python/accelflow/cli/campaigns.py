"""Options, checks and closing message of commands that run many simulations."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from accelflow.cli import offered
from accelflow.cli.assignments import read_settings
from accelflow.cli.chosen import chosen_config
from accelflow.cli.output import bar
from accelflow.cli.places import WRITTEN_FOLDER, check_place
from accelflow.errors import refused
from accelflow.kept_runs import UNFINISHED, KeptRuns
from accelflow.reproduce import BUDGETS, Runner, Scenario, names, read_scenario

__all__ = [
    "Campaign",
    "budget_option",
    "chip_options",
    "config_option",
    "experiments_argument",
    "out_option",
    "scenario_of",
    "threads_option",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Found = TypeVar("_Found")

#: The argument for names of experiments.
experiments_argument = click.argument(
    "experiments", nargs=-1, metavar="[EXPERIMENT]...", shell_complete=offered.names(names)
)

#: The option ``--threads``.
threads_option = click.option(
    "--threads",
    type=int,
    default=os.cpu_count() or 1,
    show_default="one a core",
    help="Number of parallel simulations; does not change results.",
)


def budget_option(default: str) -> Callable[[_Command], _Command]:
    """Return the option ``--budget``, a name for the length and number of simulations.

    `default` is the name used without the option.
    """
    return click.option(
        "--budget",
        "budget_name",
        default=default,
        show_default=True,
        metavar="NAME",
        shell_complete=offered.names(BUDGETS),
        help=f"How long simulations run and how often: {', '.join(BUDGETS)}.",
    )


def config_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return the option ``--config``, a file with a scenario; `help_text` describes it."""
    return click.option(
        "--config",
        "config_file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE.toml",
        help=help_text,
    )


def chip_options(command: _Command) -> _Command:
    """Add the options ``--chip`` (file or name) and ``--set`` (changes of its parameters)."""
    chip = click.option(
        "--chip",
        metavar="FILE",
        help="The chip: a file, or a name that `accelflow chip list` shows; overrides --config.",
        shell_complete=offered.chips,
    )
    changes = click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a server parameter; overrides --chip; repeatable.",
        shell_complete=offered.settings,
    )
    return chip(changes(command))


def out_option(help_text: str, default: Path | None = None) -> Callable[[_Command], _Command]:
    """Return the option ``--out``, the folder of the results; `help_text` describes it."""
    return click.option(
        "--out",
        type=WRITTEN_FOLDER,
        default=default,
        show_default=default is not None,
        help=help_text,
    )


def scenario_of(
    config_file: Path | None, chip: str | None = None, changes: Sequence[str] = ()
) -> Scenario:
    """Return the scenario of a command's options --config, --chip and --set.

    `config_file` has the scenario (None: the default one). `chip` is a file or a name, and
    `changes` are texts KEY=VALUE; both change the scenario's server.
    """
    scenario = read_scenario(config_file) if config_file else Scenario()
    config = chosen_config(chip, read_settings(changes), scenario.config)
    return replace(scenario, config=config)


class Campaign:
    """All the simulations of one command, from the check of its options to its closing message.

    With a folder for results, a campaign saves finished simulations there, and deletes them when
    the command has written its results. So a stopped command can resume. A campaign shows the
    progress, and prints the total time.
    """

    def __init__(self, threads: int, out: Path | None) -> None:
        """Start the clock. Raises InputError if `threads` is below 1 or `out` is not writable."""
        self._started = time.monotonic()
        self._simulated = self._found = 0
        if threads < 1:
            raise refused("--threads", threads, "must be at least 1")
        if out is not None:
            check_place(out)
        self._threads = threads
        #: Results of simulations until the command has written its own, so that it can resume.
        self._kept = KeptRuns(out / UNFINISHED) if out is not None else None
        self._place = out
        self.console = Console(stderr=True)

    def run(self, work: Callable[[Runner], _Found]) -> _Found:
        """Call `work` with a runner of simulations, show the progress, and return the result.

        If `work` raises an exception, there is a folder for results and simulations are completed,
        prints where these are saved.
        """
        with bar(self.console, "simulating") as advance:
            runner = Runner(self._threads, advance, self._kept)
            try:
                found = work(runner)
            except BaseException:
                if self._place is not None and runner.simulated + runner.found:
                    self.say(
                        f"completed simulations are kept in {self._place / UNFINISHED}; the same"
                        " command resumes"
                    )
                raise
        self._simulated += runner.simulated
        self._found += runner.found
        return found

    def say(self, text: str) -> None:
        """Print `text` on standard error as it is, without markup."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def end(self) -> None:
        """Print how many simulations ran and the time since the start; delete saved simulations.

        Call this only after the command's results are written: the command can then no longer
        resume.
        """
        if self._kept is not None:
            self._kept.clear()
        took = time.monotonic() - self._started
        before = f" and {self._found:,} that were kept" if self._found else ""
        self.say(f"{self._simulated:,} simulations{before}, took {took:.1f} s")
