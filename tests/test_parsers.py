"""Files that users write: whatever stands in them, it is read or refused as an `InputError`.

Parsers in Rust have fuzz targets (`fuzz/`); these are the ones in Python. Each is tried on text of
its own kind that was damaged, on values of the wrong kind, and on what is too deep or too large.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelflow import InputError, accelerometer, arcus, profiles, simulation
from accelflow.cli.power import power
from accelflow.reproduce import scenario
from accelflow.reproduce.kept import rewrite_page
from conftest import ROOT

KEPT = ROOT / "docs" / "results" / "reproduction"


class Reader(NamedTuple):
    """Something that reads a file, the name of such a file, and one that it reads."""

    read: Callable[[Path], object]
    name: str
    good: str


NINE_LINES = "C=2e9\na=0.15\nn=1000\no0=0\nQ=0\nL=200\no1=0\nA=8\nThreading=Sync\n"

COMPARED = json.dumps(
    simulation.run(
        simulation.Scenario(
            profile="paper", services=("UniqId",), orchestrators=("accelflow",), requests=100
        )
    )
)

READERS = {
    "configuration": Reader(
        simulation.read_config,
        "file.toml",
        "[accelerator]\npes = 4\n[core]\ninterrupt_ns = 3500.0\n",
    ),
    "scenario": Reader(
        scenario.read_scenario,
        "file.toml",
        '[scenario]\nplacement = "isolated"\n[accelerator]\npes = 4\n',
    ),
    "plan": Reader(
        lambda path: arcus.plan(arcus.read_plan(path)),
        "file.toml",
        'duration_us = 10\n[[flow]]\nname = "a"\naccelerator = "ipsec"\n'
        'path = "inline_rx"\nmessage_bytes = 512\nslo_gbit_per_s = 8\n',
    ),
    "service": Reader(
        accelerometer.read,
        "file.toml",
        "host_ghz = 2.0\n[[kernels]]\nname = 'a'\nthreading = 'sync'\nkernel_share_ratio = 0.1\n"
        "offloads_per_s = 1000\nacceleration_ratio = 4\n",
    ),
    "nine lines": Reader(accelerometer.read, "file.txt", NINE_LINES),
    "rules": Reader(profiles.Rules.read, "file.toml", "[leaf]\nmemory = ['^memcpy']\n"),
    "folded stacks": Reader(
        lambda path: profiles.breakdown(profiles.read(path)), "file.txt", "main;work;memcpy 12\n"
    ),
    "kept result": Reader(
        lambda path: rewrite_page(path.parent), "table1.json", (KEPT / "table1.json").read_text()
    ),
    "compared": Reader(
        lambda path: power.main([str(path)], standalone_mode=False),
        "compared.json",
        COMPARED,
    ),
}


def tried(reader: Reader, path: Path, data: bytes) -> bool:
    """Whether the file is read; fails for any error but one that names the trouble."""
    path.write_bytes(data)
    told = []
    try:
        reader.read(path)
    except InputError as error:
        told.append(str(error).strip())
    assert all(told)
    return not told


@pytest.fixture(scope="module", params=READERS, ids=lambda name: str(name).replace(" ", "_"))
def reader(request: pytest.FixtureRequest) -> Reader:
    return READERS[request.param]


DEEP = 50_000
WRONG = [
    "",
    "\0",
    "\ufeff",
    "[" * DEEP,
    "a = " + "[" * DEEP,
    "a = " + "{a=" * DEEP,
    "{" + '"a":{' * DEEP,
    "[a" + ".a" * 2_000 + "]",
    "a = 1" + "0" * 5_000,
    "a = -1e999999",
    "a = nan",
    "a = 9999-99-99",
    '{"a": 1' + "0" * 5_000 + "}",
    "[]",
    "null",
    '"\\ud800"',
    "[scenario]\nplacement = 1979-05-27T07:32:00Z",
    "scenario = 1",
    "flow = 1",
    "flow = [1]",
    "[[flow]]\nflow = 1",
    "kernels = 1",
    "kernels = [[]]",
    "[leaf]\nmemory = 1",
    "[leaf]\nmemory = [1]",
    "[leaf]\nmemory = ['(']",
    "[leaf]\nmemory = ['" + "(" * 2_000 + ")" * 2_000 + "']",
    "main;work 1" + "0" * 5_000,
    "main;work -1",
    "C=1e999",
    "C=" + "9" * 5_000,
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_refused(reader: Reader, tmp_path: Path, number: int) -> None:
    tried(reader, tmp_path / reader.name, WRONG[number].encode("utf-8", "surrogatepass"))


VALUES = st.sampled_from(
    [
        *("0", "-1", "1e400", "nan", "-inf", "true", '""', '"ü"', "[]", "{}", "1979-05-27"),
        *("9" * 400, "1" * 5_000, "[[]]", "'\\0'", "null", "[1, 'a']", "[{}]"),
    ]
)
PUT = st.one_of(st.text(max_size=3), VALUES)
CHANGES = st.lists(st.tuples(st.integers(0, 2_000), PUT), max_size=4)


@settings(max_examples=40)
@given(changes=CHANGES, cut=st.integers(0, 3))
def test_damaged_files_are_read_or_refused(
    reader: Reader, tmp_path_factory: pytest.TempPathFactory, changes: list[Any], cut: int
) -> None:
    text = reader.good
    for place, put in changes:
        at = place % (len(text) + 1)
        text = text[:at] + put + text[at + cut :]
    path = tmp_path_factory.mktemp("damaged") / reader.name
    tried(reader, path, text.encode("utf-8", "surrogatepass"))


@settings(max_examples=40)
@given(value=VALUES, line=st.integers(0, 50))
def test_values_of_the_wrong_kind_are_refused(
    reader: Reader, tmp_path_factory: pytest.TempPathFactory, value: str, line: int
) -> None:
    lines = reader.good.splitlines()
    place = line % len(lines)
    for mark in ("=", ":"):
        name, found, _ = lines[place].partition(mark)
        if found:
            lines[place] = f"{name}{mark} {value}"
            break
    path = tmp_path_factory.mktemp("wrong") / reader.name
    tried(reader, path, "\n".join(lines).encode())


@settings(max_examples=40)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(
    reader: Reader, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    tried(reader, tmp_path_factory.mktemp("any") / reader.name, data)


def test_what_is_damaged_here_is_right_by_itself(reader: Reader, tmp_path: Path) -> None:
    assert tried(reader, tmp_path / reader.name, reader.good.encode())
