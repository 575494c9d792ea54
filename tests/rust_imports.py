"""Imports between the files of a Rust crate, read from their text.

An import counts for the file that defines the item: `crate::shapes::Circle` leads through
`pub use circle::Circle` in `shapes/mod.rs` to `shapes/circle.rs`. The name of a module alone
(`use crate::shapes;`) is no import; the paths that begin with it are. Tests inside a file are left
out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: A module by its path below the crate: () is the crate's root.
Module = tuple[str, ...]

_LITERAL_OR_COMMENT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^'\\\n])'""", re.S
)
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*([;{])")
_USE = re.compile(r"\b(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:])\$?[a-z_]\w*(?:\s*::\s*\w+)+")
_ROOTS = {"crate", "super", "self"}
#: Re-exports of re-exports that are followed before a definition is given up.
_DEEPEST = 8


@dataclass
class _File:
    imports: dict[str, str] = field(default_factory=dict)
    """The path that each name of a `use` stands for."""
    paths: set[str] = field(default_factory=set)
    """Every path in a `use` or in the code."""


def file_imports(sources: Path) -> dict[str, frozenset[str]]:
    """Which file imports which, by names such as `server::engine`; the root is `lib`."""
    files = {_module(sources, path): _read(path) for path in sorted(sources.rglob("*.rs"))}
    return {
        _name(module): frozenset(_name(target) for target in _targets(files, module))
        for module in files
    }


def _module(sources: Path, path: Path) -> Module:
    parts = path.relative_to(sources).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def _name(module: Module) -> str:
    return "::".join(module) or "lib"


def module_name(sources: Path, path: Path) -> str:
    """The name of the file `path` in the graph of :func:`file_imports`."""
    return _name(_module(sources, path))


def code(path: Path) -> str:
    """The text of a file without comments, literals and test modules."""
    return _without_test_modules(_LITERAL_OR_COMMENT.sub(_blank, path.read_text(encoding="utf-8")))


def _read(path: Path) -> _File:
    text = code(path)
    file = _File()
    for tree in _USE.findall(text):
        for imported, alias in _expand(tree):
            file.imports[alias] = imported
            file.paths.add(imported)
    for found in _PATH.findall(_USE.sub("", text)):
        file.paths.add(re.sub(r"\s|\$", "", found))
    return file


def _blank(match: re.Match[str]) -> str:
    return " " if match[0].startswith("/") else '""'


def _without_test_modules(text: str) -> str:
    while match := _TEST_MODULE.search(text):
        end = match.end()
        depth = 1 if match[1] == "{" else 0
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + text[end:]
    return text


def _expand(tree: str) -> Iterator[tuple[str, str]]:
    """Every path of `a::{b, c as d}`, and the name that it has in the file."""
    tree = re.sub(r"\s+", " ", tree.strip())
    if group := re.match(r"((?:\w+ ?:: ?)*)\{(.*)\}$", tree):
        for part in _split(group[2]):
            for path, alias in _expand(part):
                whole = (group[1].replace(" ", "") + path).removesuffix("::self")
                yield whole, whole.rsplit("::", 1)[-1] if alias == "self" else alias
        return
    path, _, alias = tree.partition(" as ")
    path = path.replace(" ", "")
    yield path, alias or path.rsplit("::", 1)[-1]


def _split(group: str) -> Iterator[str]:
    """The parts of a group between the commas that are in no inner group."""
    depth, start = 0, 0
    for place, character in enumerate(group + ","):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            if part := group[start:place].strip():
                yield part
            start = place + 1


def _targets(files: dict[Module, _File], module: Module) -> set[Module]:
    found = (_definition(files, module, path) for path in files[module].paths)
    return {target for target in found if target is not None and target != module}


def _definition(
    files: dict[Module, _File], module: Module, path: str, depth: int = 0
) -> Module | None:
    """The module that defines the item at `path` as `module` sees it; None for other crates."""
    start = _start(files, module, path)
    if start is None or depth > _DEEPEST:
        return None
    target, rest = start
    while rest and (*target, rest[0]) in files:
        target, rest = (*target, rest[0]), rest[1:]
    if not rest or target not in files:
        return None
    imported = files[target].imports.get(rest[0])
    if imported is not None:
        # An item of another crate that this module re-exports counts as defined by the module.
        further = "::".join([imported, *rest[1:]])
        return _definition(files, target, further, depth + 1) or target
    return target


def _start(
    files: dict[Module, _File], module: Module, path: str
) -> tuple[Module, list[str]] | None:
    """The module where `path` starts, and what follows; None for a path into another crate."""
    segments = path.split("::")
    if segments[0] == "crate":
        return (), segments[1:]
    if segments[0] in _ROOTS:
        start = module
        while segments and segments[0] in _ROOTS:
            start = start[:-1] if segments[0] == "super" else start
            segments = segments[1:]
        return start, segments
    if (*module, segments[0]) in files:
        return module, segments
    imported = files[module].imports.get(segments[0])
    if imported is None or imported == path or imported.split("::")[0] == segments[0]:
        return None
    return _start(files, module, "::".join([imported, *segments[1:]]))
