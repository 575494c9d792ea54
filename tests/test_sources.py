"""Rules for the text of all tracked files: no marks of a merge, no endless waits in Rust tests."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Lines with which git marks both sides of a conflict; `=======` also underlines titles of pages.
MERGE_MARK = re.compile(r"^(?:<{7}|>{7}|\|{7}) .*", re.MULTILINE)

#: Waits of Rust without a time limit, and what has one.
ENDLESS = {
    r"\.recv\(\)": "recv_timeout(LONG)",
    r"(?<!try_)\bthread::park\(\)": "thread::park_timeout(LONG)",
    r"\bBarrier::new\b": "a channel, or waits::eventually",
    r"\.wait_while\(": "wait_timeout_while(.., LONG, ..)",
    r"\blistener\.accept\(\)\.expect": "waits::accept",
    r"while [^{}]*\{\s*(?:std::)?(?:thread::yield_now|thread::sleep)\([^;]*;\s*\}": (
        "waits::eventually"
    ),
}
#: The model checker's own threads: it ends an execution in which all of them wait.
MODEL_CHECKED = "crates/runtime/tests/ensemble_model.rs"


def tracked(*patterns: str) -> Iterator[tuple[str, str]]:
    """The names and texts of the tracked files that fit."""
    command = ["git", "ls-files", "-z", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("no checkout of git")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def lines_of(pattern: str, name: str, text: str) -> list[str]:
    """Where `pattern` is found, as an editor opens it."""
    starts = [match.start() for match in re.finditer(pattern, text, re.MULTILINE)]
    return [f"{name}:{1 + text[:start].count(chr(10))}" for start in starts]


def test_no_file_has_marks_of_a_merge() -> None:
    patterns = [
        f"*.{suffix}" for suffix in ("md", "rs", "py", "pyi", "toml", "txt", "lock", "ipynb")
    ]
    found = [
        place
        for name, text in tracked(*patterns, "scripts/*", ".ci/*")
        for place in lines_of(MERGE_MARK.pattern, name, text)
    ]
    assert found == []


def test_marks_of_a_merge_are_found() -> None:
    text = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n"
    assert lines_of(MERGE_MARK.pattern, "x", text) == ["x:2", "x:6"]
    assert lines_of(MERGE_MARK.pattern, "x", "Title\n=======\n >>>>>>> quoted\n") == []


@pytest.mark.parametrize("endless", ENDLESS)
def test_rust_tests_do_not_wait_for_ever(endless: str) -> None:
    found = [
        f"{place}: use {ENDLESS[endless]}"
        for name, text in tracked("crates/*/tests/*.rs")
        if name != MODEL_CHECKED
        for place in lines_of(endless, name, text)
    ]
    assert found == []
