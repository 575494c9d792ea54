"""The pages of the reference that are made of the code: commands, modules and schemas."""

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

import accelflow
from accelflow.cli import COMMANDS, program

#: The public modules by what they are for, in the order of the reference; others come last.
SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Ask": ("comparing", "scenario", "chips", "services", "phases", "workload", "policies"),
    "Read the answer": ("report", "watching", "precision", "page"),
    "Many questions": ("studies", "sizing", "parameters", "simulation"),
    "Your own data": ("importing", "profiles", "recordings", "calibration", "annotations"),
    "Traces and servers": (
        "trace",
        "server",
        "client",
        "requests",
        "settings",
        "own_traces",
        "operations",
        "tenants",
        "handlers",
        "prediction",
    ),
    "Papers": (
        "reproduce",
        "readings",
        "fit",
        "findings",
        "companions",
        "accelerometer",
        "cerebros",
        "arcus",
        "relief_suite",
        "chip",
    ),
    "Errors": ("errors",),
}
#: Modules that are no interface: their names may change.
INTERNAL: Final = {"cli", "experiments", "files", "reports", "waterfall"}


def sections() -> dict[str, tuple[str, ...]]:
    """Return the public modules by section, with those that no section names."""
    found = {module.name for module in pkgutil.iter_modules(accelflow.__path__)}
    named = {name for names in SECTIONS.values() for name in names}
    others = {name for name in found - named - INTERNAL if not name.startswith("_")}
    return {**SECTIONS, **({"Others": tuple(sorted(others))} if others else {})}


def command_pages() -> dict[str, str]:
    """Make a page of each command, from what `--help` is made of, and a page that lists them."""
    found = {}
    rows = ["# Commands", "", "Made of `--help`.", "", "| command | does |", "|---|---|"]
    top = click.Context(program, info_name="accelflow")
    for listed in COMMANDS:
        found[f"reference/commands/{listed.name}.md"] = "\n".join(described(listed.load(), top, 1))
        rows.append(f"| [{listed.name}](commands/{listed.name}.md) | {listed.help} |")
    names = "\n".join(f"commands/{listed.name}" for listed in COMMANDS)
    rows += ["", "```{toctree}", ":hidden:", names, "```", ""]
    found["reference/commands.md"] = "\n".join(rows)
    return found


def described(command: click.Command, above: click.Context, level: int) -> Iterator[str]:
    """Yield the lines of a command's section, and of those inside it."""
    context = click.Context(command, info_name=command.name, parent=above)
    yield f"{'#' * level} {context.command_path}"
    yield ""
    for line in (command.help or "").replace("\b\n", "").split("\n"):
        yield line.strip()
    yield from ("", "```text", command.get_usage(context).removeprefix("Usage: "), "```", "")
    options = [
        row for parameter in command.get_params(context) for row in option_row(parameter, context)
    ]
    if options:
        yield from ("| option | means |", "|---|---|", *options, "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from described(inner, context, level + 1)


def option_row(parameter: click.Parameter, context: click.Context) -> Iterator[str]:
    """Yield the row of an option; arguments are in the usage, and described by the help."""
    record = parameter.get_help_record(context)
    if (
        isinstance(parameter, click.Option)
        and record is not None
        and "--help" not in parameter.opts
    ):
        names, text = (part.replace("|", "\\|") for part in record)
        yield f"| `{names}` | {text} |"


def module_pages() -> dict[str, str]:
    """Make a page of each public module, of its docstrings, and a page that lists them."""
    found = {}
    rows = [
        "# Python",
        "",
        "Made of docstrings. `import accelflow` has the names that most programs need:",
        "",
        *names_at_the_top(),
    ]
    for title, names in sections().items():
        rows += ["", f"## {title}", "", "```{toctree}", ":maxdepth: 1"]
        rows += [f"python/{name}" for name in names]
        rows += ["```"]
    found |= pages_of_docstrings()
    found["reference/python.md"] = "\n".join([*rows, ""])
    return found


def names_at_the_top() -> Iterator[str]:
    """Yield rows of the names that `accelflow` itself has, by the module that documents them."""
    from accelflow import _PLACES  # noqa: PLC0415 (the one list of them)

    yield from ("| from | names |", "|---|---|")
    for module, names in _PLACES.items():
        linked = [f"{{py:obj}}`{name} <{module}.{name}>`" for name in names]
        yield f"| [{module}](python/{module.removeprefix('accelflow.')}.md) | {', '.join(linked)} |"


def pages_of_docstrings() -> dict[str, str]:
    """Make a page of each public module; what several have is on the page of the first."""
    found: dict[str, str] = {}
    seen: set[int] = set()
    first = ("errors", "requests")  # others re-export what is theirs
    named = [name for names in sections().values() for name in names]
    for name in [*first, *(name for name in named if name not in first)]:
        module = importlib.import_module(f"accelflow.{name}")
        things = {public: id(getattr(module, public)) for public in module.__all__}
        shown = [public for public, thing in things.items() if thing not in seen]
        seen |= set(things.values())
        members = "\n".join(
            ["   :members: " + ", ".join(shown), "   :member-order: bysource"] if shown else []
        )
        directive = f".. automodule:: accelflow.{name}\n{members}\n"
        found[f"reference/python/{name}.md"] = (
            f"# accelflow.{name}\n\n```{{eval-rst}}\n{directive}```\n"
        )
    return found


def schema_pages(root: Path) -> dict[str, str]:
    """Make a page of each JSON Schema, and a page that lists them."""
    rows = ["# Schemas", "", "JSON Schemas of the files that users write.", ""]
    rows += ["| file | is |", "|---|---|"]
    found, names = {}, []
    for file in sorted((root / "docs/schemas").glob("*.schema.json")):
        name = file.name.removesuffix(".schema.json")
        tree = json.loads(file.read_text(encoding="utf-8"))
        rows.append(f"| [{name}](schemas/{name}.md) | {tree.get('description', name)} |")
        names.append(f"schemas/{name}")
        found[f"reference/schemas/{name}.md"] = "\n".join(schema_page(name, tree))
    rows += ["", "```{toctree}", ":hidden:", *names, "```", ""]
    return {**found, "reference/schemas.md": "\n".join(rows)}


def schema_page(name: str, tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a schema's page: a table for each object in it."""
    yield from (f"# Files: {name}", "", str(tree.get("description", "")), "")
    yield f"`accelflow schema {name}` prints the schema."
    yield ""
    yield from fields_of(tree)
    for defined, inner in sorted(tree.get("$defs", {}).items()):
        yield from (f"## {defined}", "", str(inner.get("description", "")), "")
        yield from fields_of(inner)


def fields_of(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of an object's fields, or what else a value may be."""
    fields = tree.get("properties")
    if not fields:
        yield from (kind_of(tree), "")
        return
    needed = set(tree.get("required", ()))
    yield from ("| field | is | means |", "|---|---|---|")
    for name, field in fields.items():
        star = " (required)" if name in needed else ""
        text = re.sub(r"\s+", " ", str(field.get("description", ""))).replace("|", "\\|")
        yield f"| `{name}`{star} | {kind_of(field)} | {text} |"
    yield ""


def kind_of(tree: Mapping[str, Any]) -> str:
    """Say in a few words what a value may be."""
    if "$ref" in tree:
        name = str(tree["$ref"]).rsplit("/", 1)[-1]
        if tree["$ref"] != f"#/$defs/{name}":  # a member of another table
            return "as " + " ".join(f"`{key}`" for key in tree["$ref"].split("/properties/")[1:])
        return f"[{name}](#{name.lower()})"
    if ways := tree.get("oneOf") or tree.get("anyOf"):
        return " or ".join(dict.fromkeys(kind_of(way) for way in ways))
    if "const" in tree or "enum" in tree:
        return ", ".join(f"`{each}`" for each in tree.get("enum", [tree.get("const")]))
    return kind_of_type(tree, tree.get("type", "anything"))


def kind_of_type(tree: Mapping[str, Any], kind: Any) -> str:
    """Say what a value of a plain type is."""
    if kind == "array":
        return f"list of {kind_of(tree.get('items', {}))}"
    if kind == "object" and tree.get("properties"):
        return "table of " + ", ".join(f"`{member}`" for member in tree["properties"])
    if kind == "object" and isinstance(tree.get("additionalProperties"), dict):
        return f"table of {kind_of(tree['additionalProperties'])} by name"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
