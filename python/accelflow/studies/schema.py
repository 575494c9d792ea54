"""The JSON Schema of a study's file, made from the rules by which the file is read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from accelflow.scenario import fields_schema
from accelflow.simulation import systems
from accelflow.studies.question import (
    COSTS,
    GOAL_KEYS,
    LEAST_SEEDS,
    LIMITS,
    MOST_LIMIT,
    MOST_TRIALS,
    QUESTION_KEYS,
    Goal,
)
from accelflow.studies.study import (
    DESIGN_KEYS,
    ENDS,
    KEYS,
    KINDS,
    MOST_POINTS,
    MOST_SEEDS,
    OF_SCENARIO,
    RANGE_KEYS,
    SCALES,
    SCHEMA,
    Range,
    axis_names,
    axis_spellings,
    number_axes,
)

__all__ = ["study_schema"]

_SEED: Final = {"type": "integer", "minimum": 0, "maximum": 2**64 - 1}
_DRAW: Final = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
_SEARCHES: Final = ("least", "most", "minimize")


def study_schema() -> str:
    """Return the JSON Schema of a file for `accelflow sweep` or `accelflow find`, as text."""
    scenario, defined = fields_schema(OF_SCENARIO)
    found = {
        "schema": {"const": SCHEMA},
        "scenario": scenario | {"description": "The fields of a scenario, for all points."},
        "design": _design(),
        "axes": _axes("Values", "The values of each axis, by the axis's name."),
        "points": {
            "type": "array",
            "items": _axes("Value", "A value by the axis's name."),
            "description": "The points of the design list.",
        },
    }
    tree = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "A study, for `accelflow sweep`, or with [find] for `accelflow find`.",
        "type": "object",
        "properties": {key: found[key] for key in KEYS} | {"find": _find()},
        "required": ["schema"],
        "additionalProperties": False,
        "if": {"required": ["find"]},
        "then": {"properties": {"design": False, "axes": False, "points": False}},
        "else": _by_kind(),
        "$defs": defined | _definitions(),
    }
    return json.dumps(tree, indent=2, sort_keys=True) + "\n"


def _design() -> dict[str, Any]:
    found = {
        "kind": {
            "enum": [*KINDS],
            "description": "grid: every combination of values. latin_hypercube: each axis is cut"
            " into as many strips as there are points, with a point in each. list: the points that"
            " the study lists. Default: grid; list with [[points]].",
        },
        "points": {
            "type": "integer",
            "minimum": 2,
            "maximum": MOST_POINTS,
            "description": "The points of a Latin hypercube.",
        },
        "seed": {**_DRAW, "default": 1, "description": "The seed of a Latin hypercube's points."},
        "seeds": {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS},
                {"type": "array", "items": _SEED, "minItems": 1, "uniqueItems": True},
            ],
            "default": 1,
            "description": "The number of seeds of each point, or the seeds.",
        },
    }
    return _table(DESIGN_KEYS, found, "The points of the study.")


def _by_kind() -> dict[str, Any]:
    """Return what each kind of design requires, and what it does not use."""
    no_points = {"design": {"properties": {"points": False}}}
    hypercube = {
        "required": ["design", "axes"],
        "properties": {
            "design": {"required": ["points"]},
            "axes": {"minProperties": 1},
            "points": {"maxItems": 0},
        },
    }
    listed = {
        "required": ["points"],
        "properties": no_points | {"axes": {"maxProperties": 0}, "points": {"minItems": 1}},
    }
    grid = {
        "required": ["axes"],
        "properties": no_points | {"axes": {"minProperties": 1}, "points": {"maxItems": 0}},
    }

    def of_kind(kind: str) -> dict[str, Any]:
        chosen = {"properties": {"kind": {"const": kind}}, "required": ["kind"]}
        return {"properties": {"design": chosen}, "required": ["design"]}

    said = {"properties": {"design": {"required": ["kind"]}}, "required": ["design"]}
    unsaid = {"required": ["points"], "not": said}
    otherwise = {"if": {"anyOf": [of_kind("list"), unsaid]}, "then": listed, "else": grid}
    return {"if": of_kind("latin_hypercube"), "then": hypercube, "else": otherwise}


def _find() -> dict[str, Any]:
    axis = {"$ref": "#/$defs/NumberAxis"}
    found = {
        "system": {"enum": [name for name, _ in systems()], "default": "accelflow"},
        "least": axis | {"description": "The axis whose least value is searched."},
        "most": axis | {"description": "The axis whose greatest value is searched."},
        "minimize": {"enum": [*COSTS], "description": "The cost of a design."},
        "range": {"$ref": "#/$defs/Range", "description": "The interval of the axis."},
        "axes": _axes("Range", "The range of each axis, by the axis's name.", "NumberAxis")
        | {"minProperties": 1},
        "limits": _limits(),
        "most_seeds": {
            "type": "integer",
            "minimum": LEAST_SEEDS,
            "maximum": MOST_SEEDS,
            "default": _default(Goal, "most_seeds"),
            "description": "The seeds after which the mean decides a value near its limit.",
        },
        "trials": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_TRIALS,
            "default": _default(Goal, "trials"),
            "description": "The designs that the optimiser proposes.",
        },
        "seed": {
            **_DRAW,
            "default": _default(Goal, "seed"),
            "description": "The optimiser's seed.",
        },
    }
    keys = dict.fromkeys((*QUESTION_KEYS, *GOAL_KEYS))
    tree = _table(keys, found, "A search for the value of an axis, or for the cheapest design.")
    goal = {"required": ["limits", "axes"], "properties": _none_of(keys, GOAL_KEYS)}
    question = {
        "required": ["limits", "range"],
        "properties": _none_of(keys, QUESTION_KEYS),
        "oneOf": [{"required": ["least"]}, {"required": ["most"]}],
    }
    return tree | {"if": {"required": ["minimize"]}, "then": goal, "else": question}


def _none_of(keys: Iterable[str], used: Iterable[str]) -> dict[str, bool]:
    return {key: False for key in keys if key not in used}


def _limits() -> dict[str, Any]:
    most: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0}
    found: dict[str, Any] = {
        name: most
        | ({"exclusiveMaximum": 1} if name.endswith("_ratio") else {"maximum": MOST_LIMIT})
        for name in LIMITS
    }
    found["slo"] = {
        "type": "boolean",
        "description": "Whether the P99 of each service must be within its SLO.",
    }
    tree = _table(found, found, "The limits of every service's measures; times in us.")
    one = [{"required": [name]} for name in LIMITS]
    return tree | {"anyOf": [*one, {"properties": {"slo": {"const": True}}, "required": ["slo"]}]}


def _axes(of: str, description: str, names: str = "Axis") -> dict[str, Any]:
    """Return the schema of a table with the definition `of` for each axis of those in `names`.

    Parameters are in nested tables, or have names with dots.
    """
    each = {"$ref": f"#/$defs/{of}"}
    every = axis_spellings(axis_names())
    found: dict[str, Any] = {}
    for name in every:
        *tables, last = name.split(".")
        members = found
        for table in tables:
            members = members.setdefault(table, _table((), {}))["properties"]
        if tables:
            members[last] = each
    # The name of a scenario's field may also be that of a group of parameters: facts.
    nested = {
        name: {"anyOf": [each, table]} if name in every else table for name, table in found.items()
    }
    return {
        "type": "object",
        "description": description,
        "properties": nested,
        "propertyNames": {"anyOf": [{"$ref": f"#/$defs/{names}"}, {"enum": [*nested]}]},
        "additionalProperties": each,
    }


def _definitions() -> dict[str, Any]:
    value = {"type": ["string", "number", "boolean", "array", "object"]}
    return {
        "Axis": {"enum": axis_spellings(axis_names()), "description": "The name of an axis."},
        "NumberAxis": {
            "enum": axis_spellings(number_axes()),
            "description": "The name of an axis of numbers.",
        },
        "Value": value | {"description": "A value of an axis."},
        "Values": {
            "anyOf": [
                {
                    "type": "array",
                    "items": {"$ref": "#/$defs/Value"},
                    "minItems": 1,
                    "uniqueItems": True,
                },
                {"$ref": "#/$defs/GridRange"},
            ],
            "description": "The values of an axis: a list, or a range.",
        },
        "Range": _range([key for key in RANGE_KEYS if key != "points"]),
        "GridRange": _range(RANGE_KEYS),
    }


def _range(keys: Iterable[str]) -> dict[str, Any]:
    found = {
        **{key: {"type": "number"} for key in ENDS},
        "points": {
            "type": "integer",
            "minimum": 2,
            "maximum": MOST_POINTS,
            "default": _default(Range, "points"),
            "description": "The number of values in a grid.",
        },
        "scale": {"enum": [*SCALES], "default": _default(Range, "scale")},
        "whole": {
            "type": "boolean",
            "default": _default(Range, "whole"),
            "description": "Whether values are rounded to whole numbers.",
        },
    }
    tree = _table(keys, found, "The numbers between two ends.")
    return tree | {"required": [*ENDS]}


def _table(keys: Iterable[str], found: Mapping[str, Any], description: str = "") -> dict[str, Any]:
    """Return the schema of a table with only the members of `found` that `keys` names."""
    tree = {
        "type": "object",
        "properties": {key: found[key] for key in keys},
        "additionalProperties": False,
    }
    return tree | ({"description": description} if description else {})


def _default(of: type[Range | Goal], name: str) -> Any:
    return next(each.default for each in fields(of) if each.name == name)
