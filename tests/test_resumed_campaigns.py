"""Commands that were stopped resume: completed simulations are kept until results are written."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accelflow import simulation
from accelflow.cli import program
from accelflow.cli.failure import INTERRUPTED, run
from accelflow.kept_runs import UNFINISHED, KeptRuns
from accelflow.reproduce import Runner, budget, load, reproduce, to_dict
from accelflow.reproduce.scenario import Scenario
from test_fit import FIXED

REPRODUCE = ["reproduce", "fig18", "--budget", "ci", "--threads", "1"]
FIT = ["fit", "--requests", "100", "--seeds", "2", "--noise", "10", "--evaluations", "2"]
FIT += ["--threads", "1"]
FIT += [word for name, value in FIXED.items() for word in ("--fix", f"{name}={value}")]

#: Runs a command that kills itself after four simulations, as the kernel does without memory.
KILLED = """
import os, signal, sys
from accelflow import simulation
from accelflow.cli import main

ran, simulate = [], simulation.run_sampled

def killed(*given, **options):
    if len(ran) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    ran.append(1)
    return simulate(*given, **options)

simulation.run_sampled = killed
main()
"""


class Simulations:
    """The simulations of a test, which the user interrupts after `most` of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[simulation.Scenario] = []
        self.most: int | None = None
        self._run = simulation.run_sampled
        monkeypatch.setattr(simulation, "run_sampled", self._counted)

    def _counted(self, scenario: simulation.Scenario, **options: Any) -> Any:
        if len(self.ran) == self.most:
            raise KeyboardInterrupt
        results = self._run(scenario, **options)
        self.ran.append(scenario)
        return results


@pytest.fixture
def simulations(monkeypatch: pytest.MonkeyPatch) -> Simulations:
    return Simulations(monkeypatch)


def written(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files in `folder` by name, but not of those in its folders."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize("command", [REPRODUCE, FIT], ids=lambda command: command[0])
def test_an_interrupted_command_resumes(
    command: list[str],
    simulations: Simulations,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert run(program, [*command, "--out", str(whole)]) == 0
    assert not (whole / UNFINISHED).exists()
    all_of_them = len(simulations.ran)
    simulations.ran.clear()
    simulations.most = 4
    assert run(program, [*command, "--out", str(out)]) == INTERRUPTED
    kept = f"completed simulations are kept in {out / UNFINISHED}; the same command resumes"
    assert kept in capfd.readouterr().err
    assert len(list((out / UNFINISHED).iterdir())) == 4
    assert not written(out)
    simulations.ran.clear()
    simulations.most = None
    assert run(program, [*command, "--out", str(out)]) == 0
    assert len(simulations.ran) == all_of_them - 4
    assert f"{all_of_them - 4} simulations and 4 that were kept, took" in capfd.readouterr().err
    assert written(out) == written(whole)
    assert not (out / UNFINISHED).exists()


def test_a_killed_command_resumes(simulations: Simulations, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*REPRODUCE, "--out", str(out)]
    ended = subprocess.run([sys.executable, "-c", KILLED, *command], check=False)
    assert ended.returncode == -9
    assert len(list((out / UNFINISHED).iterdir())) == 4
    assert run(program, command) == 0
    assert len(simulations.ran) == 6
    assert not (out / UNFINISHED).exists()


def test_another_budget_or_share_of_times_is_not_mixed_up(
    simulations: Simulations, tmp_path: Path
) -> None:
    definitions, results = [load("fig18")], []
    for whole in (False, True, False, True):
        # `full` keeps all response times, and other budgets the longest.
        runner = Runner(1, kept=KeptRuns(tmp_path))
        experiment = Scenario().experiment(
            "accelflow", definitions[0].setup, definitions[0].points[0], 2_000, 1
        )
        runner.run([experiment], whole=whole)
        results.append(runner.result(experiment, whole=whole))
    assert len(simulations.ran) == 2
    for first, again in zip(results[:2], results[2:], strict=True):
        assert first.keys() == again.keys()
        for name, row in first.items():
            assert list(row["tail_us"]) == list(again[name]["tail_us"])
            assert row["p99_us"] == again[name]["p99_us"]
    name = next(iter(results[0]))
    assert len(results[0][name]["tail_us"]) < len(results[1][name]["tail_us"])


def test_results_of_kept_simulations_are_the_same(tmp_path: Path) -> None:
    definitions, chosen = [load("relief_manager")], budget("ci")

    def results(runner: Runner) -> list[dict[str, Any]]:
        outcomes = reproduce(definitions, budget=chosen, runner=runner)
        return [to_dict(outcome, Scenario(), chosen) for outcome in outcomes]

    first = Runner(2, kept=KeptRuns(tmp_path))
    again = Runner(2, kept=KeptRuns(tmp_path))
    assert results(Runner(1)) == results(first) == results(again)
    assert (first.found, again.simulated, again.found) == (0, 0, first.simulated)


def test_damaged_results_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = [*REPRODUCE, "--out", str(out)]
    subprocess.run([sys.executable, "-c", KILLED, *command], check=False)
    damaged = min((out / UNFINISHED).iterdir())
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert run(program, command) == 1
    refused = f"{damaged}: is damaged or cannot be read; delete it to repeat the simulation"
    assert refused in capfd.readouterr().err
    damaged.unlink()
    assert run(program, command) == 0
