"""Imports point down only: ARCHITECTURE.md and the tables of allowed imports, checked."""

import re
from collections import Counter
from pathlib import Path

import pytest

import layers
import rust_imports
import rust_methods
from conftest import ROOT

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
IMPORTS = (ROOT / "docs/allowed-imports.md").read_text(encoding="utf-8")
CRATES = layers.read_table(IMPORTS, "crates")
MODULES = layers.read_table(IMPORTS, "python")
CIRCLES = layers.read_circles(IMPORTS)
KNOTS = layers.read_knots(IMPORTS)


@pytest.fixture(scope="module")
def dependencies() -> layers.Graph:
    return layers.crate_dependencies(ROOT)


def test_the_whole_workspace_is_looked_at(dependencies: layers.Graph) -> None:
    names = (path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))
    folders = {f"accelflow-{name.replace('_', '-')}" for name in names}
    assert len(folders) >= 8
    assert folders <= dependencies.keys()
    # Edges that must be there: a reader that sees none would find no violation either.
    assert "accelflow-units" in dependencies["accelflow-kernel"]
    assert "pyo3" in dependencies["accelflow-python"]


def test_crates_import_only_what_the_table_allows(dependencies: layers.Graph) -> None:
    assert layers.violations(layers.only(dependencies, dependencies), CRATES) == []


def test_only_the_python_crate_knows_pyo3(dependencies: layers.Graph) -> None:
    users = {
        crate
        for crate, imported in dependencies.items()
        if any(re.match(r"pyo3\b|numpy$|pythonize$", name) for name in imported)
    }
    assert users == {"accelflow-python"}


def test_the_tables_themselves_point_down() -> None:
    assert layers.cycles(CRATES) == []
    assert layers.cycles(MODULES) == []
    assert "accelflow-sim" not in CRATES["accelflow-runtime"]
    assert "accelflow-runtime" not in CRATES["accelflow-sim"]
    assert CRATES["accelflow-trace"] == frozenset()
    assert CRATES["accelflow-kernel"] == {"accelflow-units"}


def test_the_picture_shows_every_crate_once_and_imports_point_to_lower_floors() -> None:
    floors = layers.read_floors(ARCHITECTURE)
    crates = [name for _, floor in floors for name in floor if name != "python/accelflow"]
    assert sorted(crates) == sorted(path.parent.name for path in ROOT.glob("crates/*/src"))
    height = {
        f"accelflow-{name.replace('_', '-')}": -number
        for number, (_, floor) in enumerate(floors)
        for name in floor
    }
    upwards = [
        f"{crate} imports {other}"
        for crate in height.keys() & CRATES.keys()
        for other in CRATES[crate]
        if height[other] >= height[crate]
    ]
    assert upwards == []


def test_python_modules_import_only_what_the_table_allows() -> None:
    imports = layers.module_imports(ROOT / "python" / "accelflow")
    assert "accelflow.errors" in imports["accelflow.report"]
    assert layers.violations(imports, MODULES) == []


@pytest.mark.parametrize("crate", sorted(path.parent.name for path in ROOT.glob("crates/*/src")))
def test_the_files_of_a_crate_import_in_no_circle(crate: str) -> None:
    imports = rust_imports.file_imports(ROOT / "crates" / crate / "src")
    assert layers.circles(imports) == CIRCLES.get(crate, [])


#: Crates whose folders still import each other in a circle.
ROOMS_IN_CIRCLES: set[str] = set()


@pytest.mark.parametrize(
    "crate",
    sorted({path.parent.name for path in ROOT.glob("crates/*/src")} - ROOMS_IN_CIRCLES),
)
def test_the_folders_of_a_crate_import_in_no_circle(crate: str) -> None:
    imports = layers.rooms(rust_imports.file_imports(ROOT / "crates" / crate / "src"))
    assert layers.circles(imports) == []


def test_allowed_circles_are_of_crates_that_exist() -> None:
    assert CIRCLES.keys() <= {path.parent.name for path in ROOT.glob("crates/*/src")}


def test_files_that_share_methods_call_each_other_in_no_circle() -> None:
    found = {
        (path.parent.name, name)
        for path in ROOT.glob("crates/*/src")
        for name in rust_methods.knots(path)
    }
    assert found <= KNOTS


def test_the_kernel_has_no_word_of_the_domain() -> None:
    files = sorted((ROOT / "crates" / "kernel" / "src").rglob("*.rs"))
    assert files
    word = re.compile(
        r"accelerator|orchestrat|microservice|dispatcher|\b(tcp|tls|rpc|thrift)\b", re.I
    )
    found = [f"{f.name}: {m[0]}" for f in files for m in word.finditer(f.read_text())]
    assert found == []


def test_the_layout_names_every_file_and_folder_of_the_crates_once() -> None:
    listed = sorted(layers.read_layout(ARCHITECTURE, "crates"))
    there = [
        (path.parent.name, name)
        for path in ROOT.glob("crates/*/src")
        for name in layers.tree(path, ".rs", ["lib"])
    ]
    assert listed == sorted(there)


def test_the_layout_names_every_module_and_package_once() -> None:
    listed = sorted(name for _, name in layers.read_layout(ARCHITECTURE, "package"))
    package = ROOT / "python" / "accelflow"
    assert listed == sorted([*layers.tree(package, ".py", ["__init__"]), "_native"])


def test_the_walk_names_every_step_and_part_of_the_simulated_server_once() -> None:
    title = "## The path of a request through the simulated server\n"
    text = (ROOT / "docs/code-walks.md").read_text(encoding="utf-8")
    walk = text.split(title)[1].split("\n## ")[0]
    named = Counter(re.findall(r"`(\w+)\.rs`", walk))
    folder = ROOT / "crates" / "sim" / "src" / "server"
    files = Counter(
        path.stem
        for inner in ("way", "parts")
        for path in (folder / inner).glob("*.rs")
        if path.stem != "mod"
    )
    assert files
    assert {name: named[name] for name in files} == dict(files)
    others = named.keys() - files.keys()
    assert all((folder / f"{name}.rs").is_file() for name in others)


# The checker, on graphs that break the rule.


def test_checker_finds_an_import_upwards() -> None:
    allowed = {"top": frozenset({"bottom"}), "bottom": frozenset[str]()}
    assert layers.violations(allowed, allowed) == []
    upwards = {"top": frozenset[str](), "bottom": frozenset({"top"})}
    assert layers.violations(upwards, allowed) == ["bottom may not import top"]


def test_checker_finds_strangers_and_ghosts() -> None:
    imports = {"stranger": frozenset[str]()}
    assert layers.violations(imports, {"ghost": frozenset()}) == [
        "ghost is in the table and does not exist",
        "stranger is not in the table",
    ]


def test_checker_finds_a_cycle_in_a_table() -> None:
    table = {"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"a"})}
    assert layers.cycles(table) == ["a", "b", "c"]
    assert layers.cycles(table | {"c": frozenset()}) == []


def test_checker_reads_cargo(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text('[workspace]\nmembers = ["*"]\nresolver = "3"\n')
    for name, rest in {
        "low": '[dev-dependencies]\nhigh = { path = "../high" }\n',
        "high": '[build-dependencies]\nlow = { path = "../low" }\n',
    }.items():
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src" / "lib.rs").touch()
        manifest = f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n{rest}'
        (tmp_path / name / "Cargo.toml").write_text(manifest)
    graph = layers.crate_dependencies(tmp_path)
    assert graph == {"low": {"high"}, "high": {"low"}}
    allowed = {"high": frozenset({"low"}), "low": frozenset[str]()}
    assert layers.violations(graph, allowed) == ["low may not import high"]


def test_checker_reads_every_form_of_python_import(tmp_path: Path) -> None:
    package = tmp_path / "made"
    files = {
        "__init__.py": "from made import low\n",
        "low.py": "import json\n",
        "lazy.py": "def f():\n    import made.low\n",
        "named.py": "from made.low import thing\n",
        "relative.py": "from . import low\n",
        "whole.py": "from made import something\n",
        "deep/inside.py": "from ..low import thing\nfrom . import beside\n",
        "deep/beside.py": "from made.deep import inside\n",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    low = frozenset({"made.low"})
    assert layers.module_imports(package) == {
        "made": low,
        "made.low": frozenset(),
        "made.lazy": low,
        "made.named": low,
        "made.relative": low,
        "made.whole": frozenset({"made"}),
        "made.deep": low,
    }


def made_up_crate(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_checker_reads_every_form_of_rust_import(tmp_path: Path) -> None:
    crate = made_up_crate(
        tmp_path,
        {
            "lib.rs": "mod low;\nmod high;\npub use low::Thing;\npub use std::fmt;",
            "low/mod.rs": "mod deep;\npub use deep::{Thing, Other as Renamed};\npub fn own() {}",
            "low/deep.rs": "pub struct Thing; pub struct Other;",
            "high/mod.rs": "mod grouped; mod above; mod inline; use crate::low::own;",
            "high/grouped.rs": "use crate::{low::{self, Renamed}, fmt};",
            "high/above.rs": "use super::own; fn f() { super::super::low::own() }",
            "high/inline.rs": "fn f(thing: &crate::Thing) {}",
            "alias.rs": "use crate::low;\nfn f() -> low::Thing { low::own() }",
            "alone.rs": "use crate::low;",
            "foreign.rs": "use serde::low::Thing; use units::Time;",
        },
    )
    imports = rust_imports.file_imports(crate)
    assert imports == {
        "lib": {"low::deep"},
        "low": {"low::deep"},
        "low::deep": frozenset(),
        "high": {"low"},
        "high::grouped": {"low::deep", "lib"},
        "high::above": {"low"},
        "high::inline": {"low::deep"},
        "alias": {"low", "low::deep"},
        "alone": frozenset(),
        "foreign": frozenset(),
    }


def test_checker_reads_neither_tests_nor_comments_nor_text(tmp_path: Path) -> None:
    crate = made_up_crate(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod b;\npub struct Base;",
            "a.rs": """
                //! use crate::Base;
                /* use crate::b::B; */
                const ADDRESS: &str = "http://x"; const QUOTE: char = '"';
                const TEXT: &str = r#"use crate::Base; "quoted" "#;
                #[cfg(test)]
                mod tests { use super::*; fn f() { if true { crate::b::B; } } }
                fn real<'a>(it: &'a crate::b::Real) {}
            """,
            "b.rs": "#[cfg(test)]\nmod tests;\npub struct B; pub struct Real;",
        },
    )
    imports = rust_imports.file_imports(crate)
    assert imports == {"lib": frozenset(), "a": {"b"}, "b": frozenset()}


def test_checker_finds_circles_of_files(tmp_path: Path) -> None:
    crate = made_up_crate(
        tmp_path,
        {
            "lib.rs": "mod shape; mod one; mod two; mod three;",
            "shape/mod.rs": "mod circle;\npub use circle::Circle;\npub trait Shape {}",
            "shape/circle.rs": "use super::Shape;\npub struct Circle;",
            "one.rs": "use crate::two::Two; pub struct One;",
            "two.rs": "use crate::three::Three; pub struct Two;",
            "three.rs": "use crate::one::One; pub struct Three;",
        },
    )
    assert layers.circles(rust_imports.file_imports(crate)) == [
        ["one", "three", "two"],
        ["shape", "shape::circle"],
    ]
    # The cure: what both need has a file of its own.
    (crate / "shape" / "shape.rs").write_text("pub trait Shape {}")
    (crate / "shape" / "mod.rs").write_text("pub use shape::Shape; pub use circle::Circle;")
    (crate / "three.rs").write_text("pub struct Three;")
    assert layers.circles(rust_imports.file_imports(crate)) == []


def test_checker_finds_circles_of_folders(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod config; mod server;",
        "config/mod.rs": "pub mod all;",
        "config/all.rs": "use crate::server::part::Part; pub struct All;",
        "server/mod.rs": "pub mod part; pub mod whole;",
        "server/part.rs": "pub struct Part;",
        "server/whole.rs": "use crate::config::all::All; pub struct Whole;",
    }
    imports = rust_imports.file_imports(made_up_crate(tmp_path, files))
    assert layers.circles(imports) == []
    assert layers.circles(layers.rooms(imports)) == [["config", "server"]]


def test_table_of_circles() -> None:
    heading = "<!-- allowed-circles -->\n\n| crate | files | reason |\n|---|---|---|\n"
    assert layers.read_circles(f"{heading}\nText") == {}
    rows = "| sim | b, a | one writes what the other reads |\n| sim | d, c | so it is |\n"
    assert layers.read_circles(heading + rows) == {"sim": [["a", "b"], ["c", "d"]]}
    with pytest.raises(ValueError, match="gives no reason"):
        layers.read_circles(f"{heading}| sim | a, b | |")


def test_layout_reader() -> None:
    text = (
        "<!-- layout: x -->\n\n```text\nlow   a b/   two\n      c      three\ntop   d  four\n```\n"
    )
    assert layers.read_layout(text, "x") == [
        ("low", "a"),
        ("low", "b/"),
        ("low", "c"),
        ("top", "d"),
    ]
    with pytest.raises(ValueError, match="must have a heading"):
        layers.read_layout("<!-- layout: x -->\n\n```text\nlow   a\n```\n", "x")


@pytest.mark.parametrize(
    "text",
    [
        "no table",
        "<!-- allowed-imports: x -->\n<!-- allowed-imports: x -->",
        "<!-- allowed-imports: x -->\n| a | b |\n|---|---|\n| one | |\n| one | |\n",
    ],
)
def test_table_reader_refuses_a_broken_table(text: str) -> None:
    with pytest.raises(ValueError, match=r"exactly one|two rows"):
        layers.read_table(text, "x")


def test_no_files_of_the_python_package_import_each_other_in_a_circle() -> None:
    assert layers.circles(layers.file_imports(ROOT / "python" / "accelflow")) == []


def test_checker_finds_circles_of_python_files(tmp_path: Path) -> None:
    package = tmp_path / "made"
    files = {
        "__init__.py": "from made.low import thing\n",
        "low.py": "from made.high import other\n",
        "high.py": "import made.low\n",
        "late.py": "def f():\n    from made.later import g\n",
        "later.py": "from made.late import f\n",
        "typed.py": "if TYPE_CHECKING:\n    from made.typing import x\nimport made.late\n",
        "typing.py": "from made import typed\n",
        "caught.py": "try:\n    import made.low\nexcept ImportError:\n    import made.late\n",
        "deep/__init__.py": "from made.deep.one import a\nfrom .two import b\n",
        "deep/one.py": "from made.deep import b\n",
        "deep/two.py": "class C:\n    from .one import a\n",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    graph = layers.file_imports(package)
    assert graph["made.typed"] == {"made.late"}
    assert graph["made.deep.one"] == {"made.deep.two"}
    assert graph["made.caught"] == {"made.late", "made.low"}
    assert layers.circles(graph) == [
        ["made.deep.one", "made.deep.two"],
        ["made.high", "made.low"],
        ["made.late", "made.later"],
    ]


def test_checker_finds_knots_of_methods(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod all;\nmod part;\n",
        "all.rs": "pub struct All;\nimpl All {\n    fn start(&self) { self.end() }\n}\n",
        "part.rs": "use crate::all::All;\nimpl All {\n    fn end(&self) {} // self.start()\n}\n",
    }
    crate = made_up_crate(tmp_path, files)
    assert rust_methods.knots(crate) == {}
    back = files["part.rs"].replace("{}", "{ Self::start(self) }")
    (crate / "part.rs").write_text(back)
    assert rust_methods.knots(crate) == {"All": [["all", "part"]]}
    (crate / "part.rs").write_text(back.replace("impl All", "impl Clone for All"))
    assert rust_methods.knots(crate) == {}
