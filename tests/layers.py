"""The layer rule: what imports what, and what ARCHITECTURE.md and its tables allow."""

import ast
import itertools
import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

#: Who imports whom, by name.
Graph = Mapping[str, frozenset[str]]


def read_table(text: str, name: str) -> Graph:
    """The table after ``<!-- allowed-imports: NAME -->``. Raises ValueError if it is broken."""
    allowed: dict[str, frozenset[str]] = {}
    for importer, imported in _rows(text, f"<!-- allowed-imports: {name} -->"):
        if importer in allowed:
            raise ValueError(f"{importer} has two rows in the table '{name}'")
        allowed[importer] = frozenset(filter(None, re.split(r",\s*", imported)))
    return allowed


def read_circles(text: str) -> Mapping[str, list[list[str]]]:
    """The groups of files after ``<!-- allowed-circles -->``, by crate.

    Raises ValueError if the table is broken.
    """
    circles: dict[str, list[list[str]]] = {}
    for crate, files, reason in _rows(text, "<!-- allowed-circles -->"):
        if not reason:
            raise ValueError(f"the circle of {files} in {crate} gives no reason")
        circles.setdefault(crate, []).append(sorted(re.split(r",\s*", files)))
    return {crate: sorted(groups) for crate, groups in circles.items()}


def read_knots(text: str) -> set[tuple[str, str]]:
    """The crates and types after ``<!-- allowed-knots -->``.

    Raises ValueError if the table is broken.
    """
    knots = set()
    for crate, name, reason in _rows(text, "<!-- allowed-knots -->"):
        if not reason:
            raise ValueError(f"the knot of {name} in {crate} gives no reason")
        knots.add((crate, name))
    return knots


def _rows(text: str, marker: str) -> Iterable[list[str]]:
    """The cells of each row of the table after `marker`."""
    if text.count(marker) != 1:
        raise ValueError(f"there must be exactly one '{marker}'")
    lines = text.split(marker)[1].strip().splitlines()
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines)
    for row in itertools.islice(rows, 2, None):  # below the heading and its rule
        yield [cell.strip().replace("\\", "") for cell in row[1:].rstrip("|").split("|")]


def read_layout(text: str, name: str) -> list[tuple[str, str]]:
    """The heading and the name of each file and folder in the block ``<!-- layout: NAME -->``.

    A line has a heading, names and their meaning, with two spaces or more between them. A line
    without a heading has that of the line above. Raises ValueError for any other line.
    """
    marker = f"<!-- layout: {name} -->\n\n```text\n"
    if text.count(marker) != 1:
        raise ValueError(f"there must be exactly one '{marker.splitlines()[0]}'")
    found: list[tuple[str, str]] = []
    heading = ""
    for line in text.split(marker)[1].split("```", maxsplit=1)[0].splitlines():
        parts = re.split(r" {2,}", line)
        if len(parts) != 3:
            raise ValueError(f"'{line}' must have a heading, names and their meaning")
        heading = parts[0] or heading
        found += [(heading, each) for each in parts[1].split()]
    return found


def read_floors(text: str) -> list[tuple[str, list[str]]]:
    """The name and the rooms of each floor in the block ``<!-- floors -->``, the highest first.

    A line has the name of a floor, two spaces or more, and rooms; a line without a name has more
    rooms of the floor above. Bars join floors, and texts of several words explain them.
    """
    block = text.split("<!-- floors -->\n\n```text\n")[1].split("```", maxsplit=1)[0]
    floors: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        name, *parts = re.split(r" {2,}", line)
        if name:
            floors.append((name, []))
        floors[-1][1].extend(part for part in parts if re.fullmatch(r"[\w/]+", part))
    return floors


def tree(folder: Path, ending: str, ignored: Iterable[str] = ()) -> list[str]:
    """The files with `ending`, without it, and the folders directly inside `folder`.

    Folders without a file of the project, such as caches, do not count.
    """
    files = [path.name.removesuffix(ending) for path in folder.glob(f"*{ending}")]
    folders = [
        f"{path.name}/"
        for path in folder.iterdir()
        if path.is_dir() and any(inner.suffix != ".pyc" for inner in path.glob("*.*"))
    ]
    return sorted({*files, *folders} - set(ignored))


def violations(imports: Graph, allowed: Graph) -> list[str]:
    """Every import that the table does not allow, and every difference in who there is."""
    found = [f"{name} is not in the table" for name in imports.keys() - allowed.keys()]
    found += [f"{name} is in the table and does not exist" for name in allowed.keys() - imports]
    for importer, imported in imports.items():
        for name in imported - allowed.get(importer, frozenset()):
            found.append(f"{importer} may not import {name}")
    return sorted(found)


def cycles(allowed: Graph) -> list[str]:
    """The names that reach themselves: with any, 'down' would have no meaning."""
    return sorted(name for name in allowed if name in _reached(allowed, name))


def _reached(graph: Graph, name: str) -> set[str]:
    """What `name` imports, and what that imports, and so on."""
    seen: set[str] = set()
    todo = list(graph.get(name, ()))
    while todo:
        if (next_name := todo.pop()) not in seen:
            seen.add(next_name)
            todo += graph.get(next_name, ())
    return seen


def circles(imports: Graph) -> list[list[str]]:
    """Files that import in a circle: the groups of names of which each reaches every other."""
    reached = {name: _reached(imports, name) for name in imports}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached.get(other, ())))
        for name in imports
        if name in reached[name]
    }
    return sorted(list(group) for group in groups)


def rooms(imports: Graph) -> Graph:
    """The imports between the folders and files at the top of a crate."""
    found: dict[str, set[str]] = {}
    for file, imported in imports.items():
        room = file.partition("::")[0]
        found.setdefault(room, set()).update(name.partition("::")[0] for name in imported)
    return {room: frozenset(others - {room}) for room, others in found.items() if room != "lib"}


def crate_dependencies(root: Path) -> Graph:
    """All direct dependencies, of every kind, of every crate of the workspace."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return {
        package["name"]: frozenset(dependency["name"] for dependency in package["dependencies"])
        for package in json.loads(output)["packages"]
    }


def only(graph: Graph, names: Iterable[str]) -> Graph:
    """The graph without imports of anything but `names`."""
    kept = frozenset(names)
    return {importer: imported & kept for importer, imported in graph.items()}


def module_imports(package: Path) -> Graph:
    """Imports between the modules and packages directly inside `package`, itself included.

    Imports inside functions count; so do relative ones. `from package import module` is an import
    of the module where there is one of that name, and of the package itself otherwise.
    """
    files = sorted(p for p in package.rglob("*.py*") if p.suffix in {".py", ".pyi"})
    units = {_unit(package, file) for file in files}
    graph: dict[str, set[str]] = {unit: set() for unit in units}
    for file in files:
        importer = _unit(package, file)
        for name in _imported_names(package, file):
            target = _longest_known(name, units)
            if target is not None and target != importer:
                graph[importer].add(target)
    return {unit: frozenset(imported) for unit, imported in graph.items()}


def _unit(package: Path, file: Path) -> str:
    first = file.relative_to(package).parts[0]
    return package.name if first == "__init__.py" else f"{package.name}.{first.split('.')[0]}"


def _imported_names(package: Path, file: Path) -> Iterable[str]:
    parts = [package.name, *file.relative_to(package).with_suffix("").parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = parts[: len(parts) - level] if level else []
                yield from (".".join([*base, *filter(None, [module]), a.name]) for a in names)


def _longest_known(name: str, units: set[str]) -> str | None:
    parts = name.split(".")
    candidates = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((candidate for candidate in candidates if candidate in units), None)


def file_imports(package: Path) -> Graph:
    """Imports between the files of `package`, also those inside functions.

    Imports under ``TYPE_CHECKING`` do not count: they never run.
    `from folder import name` is an import of the file that has the name, if the folder's
    ``__init__`` takes it from one of its files. Loading a file also loads the folders above it,
    which is no import of theirs.
    """
    files = {_dotted(package, file): file for file in sorted(package.rglob("*.py"))}
    shown = {name: _shown_names(name, file, files) for name, file in files.items()}
    graph: dict[str, frozenset[str]] = {}
    for name, file in files.items():
        found = {
            shown.get(base, {}).get(item, base if f"{base}.{item}" not in files else None)
            or f"{base}.{item}"
            for base, item in _loaded(name, file)
        }
        graph[name] = frozenset(target for target in found if target in files and target != name)
    return graph


def _dotted(package: Path, file: Path) -> str:
    parts = [package.name, *file.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _shown_names(name: str, file: Path, files: Mapping[str, Path]) -> dict[str, str]:
    """What a folder's ``__init__`` shows of its files: name to file."""
    if file.name != "__init__.py":
        return {}
    return {
        item: base
        for base, item in _loaded(name, file)
        if base in files and base.startswith(f"{name}.")
    }


def _loaded(name: str, file: Path) -> Iterable[tuple[str, str]]:
    """Module and name of each import of `file` that may run."""
    folder = name if file.name == "__init__.py" else name.rpartition(".")[0]
    todo: list[ast.stmt] = list(ast.parse(file.read_text(encoding="utf-8")).body)
    while todo:
        match node := todo.pop():
            case ast.Import(names=names):
                yield from (alias.name.rpartition(".")[::2] for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = folder.split(".")[: len(folder.split(".")) - level + 1] if level else []
                base = ".".join([*above, *filter(None, [module])])
                yield from ((base, alias.name) for alias in names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                todo += node.orelse
            case _:
                todo += _inner(node)


def _inner(node: ast.AST) -> Iterable[ast.stmt]:
    """The statements inside `node`, also those of the handlers of a ``try`` and of ``match``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _inner(child)
