"""Rules for the project's own code: one form of refusals, short files, tests that are run."""

import ast
import re
import tomllib
from collections.abc import Iterator

from conftest import ROOT
from test_sources import tracked


def refusals_by_hand(text: str) -> Iterator[int]:
    """The lines where an exception with "must" in its message is made without `refused`."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if name not in {"InputError", "UsageError", "BadParameter"}:
            continue
        written = "".join(
            part.value
            for argument in node.args
            for part in ast.walk(argument)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
        if re.search(r"\bmust\b", written):
            yield node.lineno


def test_refusals_are_made_by_refused() -> None:
    package = "python/accelflow/"
    found = {
        f"{name.removeprefix(package)}:{line}"
        for name, text in tracked(f"{package}*.py")
        if name != f"{package}errors.py"
        for line in refusals_by_hand(text)
    }
    assert found == set(), "use refused() of accelflow.errors"


def test_refusals_made_by_hand_are_found() -> None:
    text = "raise InputError(\n    f'{x}: must be 1'\n)\nraise refused('x', 1, 'must be 2')\n"
    assert list(refusals_by_hand(text)) == [1]
    assert list(refusals_by_hand("raise click.UsageError('--a must be left out')")) == [1]
    assert not list(refusals_by_hand("raise InputError(f'{path}: {error}')"))


MOST_LINES_OF_A_FILE = 600
MOST_LINES_OF_A_FUNCTION = 60

#: Files that are too long, with the reason.
LONG_FILES = {
    "python/accelflow/_native.pyi": "the stub of one module",
}
#: Python functions that are too long, with the reason.
LONG_FUNCTIONS = {
    "benches/kernel_chain/chain_simpy.py: simulate": "one model, as users of SimPy write it",
    "scripts/make_golden_vectors.py: thrift_messages": "a list of messages",
}


def long_functions(text: str) -> Iterator[str]:
    """The names of functions that are too long; docstrings do not count."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = _lines(node) - (_lines(node.body[0]) if ast.get_docstring(node) else 0)
            if length > MOST_LINES_OF_A_FUNCTION:
                yield node.name


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_are_short() -> None:
    found = {
        name
        for name, text in tracked("*.py", "*.pyi", "*.rs")
        if len(text.splitlines()) > MOST_LINES_OF_A_FILE
    }
    assert found == LONG_FILES.keys()


def test_every_file_of_rust_tests_is_run() -> None:
    # Where a crate's `all.rs` has its tests, Cargo looks for no other test programs.
    left_out = []
    for path in sorted(ROOT.glob("crates/*/tests/*.rs")):
        manifest = tomllib.loads((path.parent.parent / "Cargo.toml").read_text())
        if manifest["package"].get("autotests", True):
            continue
        programs = {program["path"] for program in manifest["test"]}
        every = (path.parent / "all.rs").read_text()
        if f"tests/{path.name}" not in programs and f"\nmod {path.stem};\n" not in every:
            left_out.append(str(path.relative_to(ROOT)))
    assert left_out == []


def test_programs_of_unit_tests_are_built_where_there_are_unit_tests() -> None:
    # A library without unit tests would be compiled a second time for nothing; one whose tests are
    # turned off would not run them.
    wrong = []
    for path in sorted([*ROOT.glob("crates/*/Cargo.toml"), *ROOT.glob("benches/*/Cargo.toml")]):
        manifest = tomllib.loads(path.read_text())
        if not (path.parent / "src/lib.rs").is_file():
            continue
        sources = (path.parent / "src").rglob("*.rs")
        has_tests = any("#[test]" in source.read_text() for source in sources)
        if manifest.get("lib", {}).get("test", True) != has_tests:
            wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []


def test_every_fuzz_target_has_its_program_and_its_row() -> None:
    properties = {path.stem for path in ROOT.glob("crates/fuzzing/src/targets/*.rs")} - {"mod"}
    programs = {
        program["name"]: program["path"]
        for program in tomllib.loads((ROOT / "fuzz/Cargo.toml").read_text())["bin"]
    }
    listed = (ROOT / "crates/fuzzing/src/targets/mod.rs").read_text().split("$macro!")[1]
    rows = [row for row in (ROOT / "fuzz/README.md").read_text().splitlines() if row[:2] == "| "]
    assert set(re.findall(r"\w+", listed.split("}")[0])) == properties
    assert programs.pop("canary") == "canary.rs"
    assert programs == {name: f"fuzz_targets/{name}.rs" for name in properties}
    assert {name for row in rows for name in re.findall("`(.+?)`", row.split("|")[1])} == properties
    for name, path in programs.items():
        assert f"{name}::check(input)" in (ROOT / "fuzz" / path).read_text()


def unnamed(text: str) -> Iterator[int]:
    """The lines where a loop or a lambda calls its variable `it` or `one`."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.For(target=target) | ast.comprehension(target=target):
                names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
            case ast.Lambda(args=arguments):
                names = {argument.arg for argument in arguments.args}
            case _:
                continue
        if names & {"it", "one"}:
            yield node.target.lineno if hasattr(node, "target") else node.lineno


def test_variables_have_the_names_of_what_they_hold() -> None:
    found = {
        f"{name}:{line}"
        for folder in ("python", "scripts", "benches")
        for name, text in tracked(f"{folder}/*.py")
        for line in unnamed(text)
    }
    assert found == set()
    text = "a = [one for one in b]\nfor it, c in d:\n    f(lambda it: it)\nfor e in d:\n    pass\n"
    assert sorted(unnamed(text)) == [1, 2, 3]


def test_python_functions_are_short() -> None:
    found = {
        f"{name}: {function}" for name, text in tracked("*.py") for function in long_functions(text)
    }
    assert found == LONG_FUNCTIONS.keys()


def test_long_functions_are_found() -> None:
    body = "    x = 1\n" * (MOST_LINES_OF_A_FUNCTION - 1)
    assert not list(long_functions(f'def f():\n    """Text.\n\n    More.\n    """\n{body}'))
    assert list(long_functions(f"async def f():\n{body}    x = 2\n")) == ["f"]
