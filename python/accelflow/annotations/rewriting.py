"""Copy a function so that its own calls go through another function.

The source is parsed, each call ``f(x)`` in it becomes ``call(f, x)``, and the result is compiled
with the globals and the closure of the original. Calls of functions that look at the calling frame
(``super``, ``locals``, ``eval``, ...) stay as they are. Nothing outside the copy changes.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from accelflow.errors import refused

__all__ = ["rewritten"]

_CALL: Final = "__accelflow_call__"
_COPY: Final = "__accelflow_copy__"
_FACTORY: Final = "__accelflow_factory__"

#: Functions that look at the frame that calls them, and so must be called by it.
_OF_THE_FRAME: Final = frozenset(
    {"super", "locals", "globals", "vars", "dir", "eval", "exec", "breakpoint"}
)


def rewritten(function: FunctionType, call: Callable[..., object]) -> FunctionType:
    """Return a copy of `function` in which each call ``f(x)`` is ``call(f, x)``.

    Calls inside the called functions stay as they are, and so do calls of functions that look at
    the calling frame (``locals``, ...). Raises InputError for a function without source code (for
    example one typed into an interpreter), for a lambda, and for a method that uses private names
    of its class.
    """
    definition = _definition(function)
    free = function.__code__.co_freevars
    tree = ast.parse(f"def {_FACTORY}({', '.join([*free, _CALL])}):\n    return {_COPY}")
    for factory in tree.body:
        if isinstance(factory, ast.FunctionDef):
            factory.body.insert(0, definition)
    tree = ast.fix_missing_locations(tree)
    code = _inner(_inner(compile(tree, function.__code__.co_filename, "exec"), _FACTORY), _COPY)
    cells = dict(zip(free, function.__closure__ or (), strict=True))
    cells[_CALL] = CellType(call)
    code = code.replace(co_name=function.__name__, co_qualname=function.__qualname__)
    copy = FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _definition(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef:
    allowed = "must be a function whose source is in a file"
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        raise refused("offload", function.__qualname__, allowed) from None
    node = tree.body[0] if tree.body else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise refused("offload", function.__qualname__, f"{allowed}, and not a lambda")
    if any(_is_private(inside) for inside in ast.walk(node)):
        raise refused(
            "offload",
            function.__qualname__,
            "must not use private names (such as __secret) of its class",
        )
    ast.increment_lineno(tree, first - 1)
    node.name, node.decorator_list = _COPY, []
    node.body = [_Calls().visit(statement) for statement in node.body]
    # They were evaluated when the original was defined.
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [default and ast.Constant(None) for default in node.args.kw_defaults]
    node.returns = None
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return node


def _is_private(node: ast.AST) -> bool:
    """Whether a class would mangle the name of `node`."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name.startswith("__") and not name.endswith("__")


class _Calls(ast.NodeTransformer):
    """Replaces called functions by the recording function."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Turn ``f(x)`` into ``call(f, x)``, also for calls within `f` and `x`."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _OF_THE_FRAME:
            return node
        recorded = ast.Call(ast.Name(_CALL, ast.Load()), [node.func, *node.args], node.keywords)
        return ast.copy_location(recorded, node)


def _inner(code: CodeType, name: str) -> CodeType:
    inner: Any = next(
        constant for constant in code.co_consts if getattr(constant, "co_name", "") == name
    )
    found: CodeType = inner
    return found
