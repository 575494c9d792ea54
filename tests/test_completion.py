"""Shells complete commands, options and values: each shell is asked as it asks itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from accelflow import simulation
from accelflow.cli import program

SCRIPT = Path(sys.executable).with_name("accelflow")

#: CI sets it, so that a missing shell fails there and is skipped elsewhere.
NEEDED = "ACCELFLOW_NEEDS_SHELLS"

#: What has been typed, the last word to be completed, and some of what must be offered.
TYPED = [
    (["comp"], {"compare", "companions", "completion"}),
    (["compare", "s"], {"socialnetwork", "serverless"}),
    (["compare", "socialnetwork", "--orch"], {"--orchestrator"}),
    (["compare", "socialnetwork", "--orchestrator", "ac"], {"accelflow", "accelflow_deadline"}),
    (["compare", "socialnetwork", "--service", "C"], {"CPost", "CUrls"}),
    (["compare", "hotelreservation", "--profile", "p"], {"paper"}),
    (["explain", "network.c"], {"network.chiplets"}),
    (["service", "show", "Uni"], {"UniqId"}),
    (["trace", "show", "T1"], {"T1", "T10", "T11", "T12"}),
    (["why", "Uni"], {"UniqId"}),
    (["trace", "watch", "CP"], {"CPost"}),
    (["reproduce", "fig1"], {"fig1", "fig11", "fig12"}),
    (["readings", "--choice", "relief."], {"relief.occupancy_ns"}),
    (["fit", "--fix", "placement="], {"placement=colocated", "placement=isolated"}),
    (["completion", "b"], {"bash"}),
    (["compare", "--set", "core.b"], {"core.balancing="}),
]

#: A workload of one's own, with services that no suite has.
OWN = """
schema = "accelflow.workload/1"
name = "own"
[[services]]
name = "Ordering"
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 1.0 }, { trace = "T2" }]
"""


def environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"}


def completion(shell: str) -> str:
    done = subprocess.run([SCRIPT, "completion", shell], capture_output=True, text=True, check=True)
    return done.stdout


def ask(shell: list[str], script: str) -> set[str]:
    done = subprocess.run(
        [*shell, script], capture_output=True, text=True, check=False, env=environment()
    )
    assert done.returncode == 0, done.stderr
    return {line.strip() for line in done.stdout.splitlines()}


def require(shell: str) -> None:
    """Skip the test if a shell is missing, or fail it where all shells are needed."""
    if shutil.which(shell) is None:
        why = f"{shell} is missing: run scripts/install-shells"
        if os.environ.get(NEEDED):
            pytest.fail(why)
        pytest.skip(why)


def quoted(words: list[str]) -> str:
    return " ".join(f"'{word}'" for word in words)


@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_bash_completes(typed: list[str], offered: set[str]) -> None:
    # Bash calls the function that `complete` names with the words in COMP_WORDS.
    script = completion("bash") + (
        f"COMP_WORDS=(accelflow {quoted(typed)})\n"
        f"COMP_CWORD={len(typed)}\n"
        "function=$(complete -p accelflow | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n"
        "compopt() { :; }\n"
        f"$function accelflow {quoted(typed[-1:])} x\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    found = ask(["bash", "--norc", "-c"], script)
    assert offered <= found
    assert all(name.startswith(typed[-1]) for name in found)


@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_zsh_completes(typed: list[str], offered: set[str]) -> None:
    require("zsh")
    # The completion system's own functions only work within its widgets; these note what is added.
    script = (
        "compdef() { named=$1 }\n"
        "compadd() { local -a list; list=(${(P)@[-1]}); print -l -- $list }\n"
        "_describe() { local -a list; list=(${(P)3}); print -l -- ${list%%:*} }\n"
        "_path_files() { : }\n"
        f"{completion('zsh')}\n"
        f"words=(accelflow {quoted(typed)})\n"
        f"CURRENT={len(typed) + 1}\n"
        "$named\n"
    )
    assert offered <= ask(["zsh", "-f", "-c"], script)


@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_fish_completes(typed: list[str], offered: set[str]) -> None:
    require("fish")
    line = " ".join(["accelflow", *typed])
    script = f"{completion('fish')}\ncomplete --do-complete '{line}'\n"
    found = ask(["fish", "--no-config", "-c"], script)
    assert offered <= {name.split("\t")[0] for name in found}


@pytest.mark.parametrize(
    "before",
    [
        ["compare", "own.toml", "--service"],
        ["compare", "--seed", "3", "own.toml", "--service"],
        ["compare", "own.toml", "--timeline", "t.json", "--timeline-service"],
        ["service", "show", "--workload", "own.toml"],
        ["why", "--workload", "own.toml"],
        ["import", "perf", "p.perf", "--into", "own.toml", "--service"],
    ],
)
def test_services_are_those_of_the_workload_on_the_line(
    before: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.toml").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    complete = ShellComplete(program, {}, "accelflow", "_ACCELFLOW_COMPLETE")
    assert [item.value for item in complete.get_completions(before, "")] == ["Ordering"]


def test_settings_are_keys_and_then_their_choices() -> None:
    complete = ShellComplete(program, {}, "accelflow", "_ACCELFLOW_COMPLETE")

    def offered(typed: str) -> list[str]:
        return [item.value for item in complete.get_completions(["compare", "--set"], typed)]

    assert "core.count=" in offered("core.")
    assert offered("accelerator.fallback=") == [
        "accelerator.fallback=full",
        "accelerator.fallback=sooner",
    ]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_missing_shell_fails_where_it_is_needed(
    shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv(NEEDED, "1")
    with pytest.raises(pytest.fail.Exception, match=f"{shell} is missing: run scripts/install"):
        require(shell)
    monkeypatch.delenv(NEEDED)
    with pytest.raises(pytest.skip.Exception, match=f"{shell} is missing: run scripts/install"):
        require(shell)


def test_every_system_is_offered() -> None:
    typed = ["compare", "socialnetwork", "--orchestrator", ""]
    variables = {"COMP_WORDS": " ".join(["accelflow", *typed]), "COMP_CWORD": str(len(typed))}
    done = subprocess.run(
        [SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | variables | {"_ACCELFLOW_COMPLETE": "bash_complete"},
    )
    found = {line.partition(",")[2] for line in done.stdout.splitlines()}
    assert {name for name, _ in simulation.systems()} == found


def test_other_shells_are_refused() -> None:
    done = subprocess.run(
        [SCRIPT, "completion", "tcsh"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "SHELL = 'tcsh': must be bash, zsh or fish" in done.stderr
