"""Calls between the files that share one type's methods, read from the text of a Rust crate.

A type may have an `impl` block in several files. Their methods call each other without an import:
such files form a knot if the calls run in a circle.
"""

import re
from collections import defaultdict
from pathlib import Path

import layers
from rust_imports import code, module_name

_IMPL = re.compile(r"^impl(?:<[^{;]*?>)?\s+(?:\w+::)*(\w+)(?:<[^{;]*?>)?\s*(?:where[^{]*)?\{", re.M)
_METHOD = re.compile(r"\bfn\s+(\w+)")
_CALL = re.compile(r"\b(?:self|Self)\s*(?:\.|::)\s*(\w+)\s*(?:::<[^>]*>)?\(")


def knots(sources: Path) -> dict[str, list[list[str]]]:
    """By type, the groups of files whose methods of the type call each other in a circle."""
    blocks: dict[str, dict[str, str]] = defaultdict(lambda: defaultdict(str))
    for path in sorted(sources.rglob("*.rs")):
        text = code(path)
        for match in _IMPL.finditer(text):
            blocks[match[1]][module_name(sources, path)] += _block(text, match.end())
    found = {name: layers.circles(_calls(files)) for name, files in blocks.items()}
    return {name: groups for name, groups in found.items() if groups}


def _block(text: str, start: int) -> str:
    """The text of a block from `start`, which is behind its opening brace."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start:]


def _calls(files: dict[str, str]) -> layers.Graph:
    """Which file calls a method of the type that another file defines."""
    owner = {name: file for file, text in files.items() for name in _METHOD.findall(text)}
    return {
        file: frozenset(
            owner[name] for name in _CALL.findall(text) if name in owner and owner[name] != file
        )
        for file, text in files.items()
    }
