"""Refusals that name the user's option instead of the field that it sets."""

import re
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import click
from click.core import ParameterSource

from accelflow.errors import InputError

__all__ = ["file_once", "naming_options", "once"]

#: The field at the beginning of a refusal, with its place in a list: ``services[0] = 'Foo': ...``.
_FIELD: Final = re.compile(r"(\w+)(\[\d+\])?(?= = )")


class _Context(click.Context):
    """A command's context that rewrites refusals of options on their way out."""

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        tb: TracebackType | None,
    ) -> bool | None:
        """Close the context; if a refusal names a field that an option has set, name the option."""
        suppress = super().__exit__(exc_type, exc_value, tb)
        if type(exc_value) is InputError:
            text = str(exc_value)
            named = _by_option(text, self)
            if named != text:
                raise InputError(named) from exc_value
        return suppress


def _by_option(text: str, context: click.Context) -> str:
    """Replace the field at the beginning of `text` by the option of `context` that has set it.

    An option with the same name as its field, such as ``--seed``, is not replaced.
    """
    field = _FIELD.match(text)
    if field is None:
        return text
    name = field.group(1)
    if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
        return text
    for parameter in context.command.params:
        option = max(parameter.opts, key=len)
        if parameter.name == name and option.startswith("--"):
            own = option.removeprefix("--").replace("-", "_")
            return text if own == name else option + text[field.end() :]
    return text


def naming_options(command: click.Command) -> click.Command:
    """Make refusals of `command` and its subcommands name options."""
    command.context_class = _Context
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            naming_options(inner)
    return command


def once(_: click.Context, parameter: click.Parameter, values: tuple[object, ...]) -> object | None:
    """Return the value of an option with ``multiple`` that allows one value; a callback of click.

    Raises InputError if it is given again.
    """
    if len(values) > 1:
        option = max(parameter.opts, key=len)
        raise InputError(f"{option} = {str(values[1])!r}: must be given only once")
    return values[0] if values else None


def file_once(*names: str, text: str, metavar: str = "FILE") -> Callable[[Any], Any]:
    """Make an option `names` with the help `text` for a file, allowed once and by default None."""
    return click.option(
        *names,
        multiple=True,
        callback=once,
        type=click.Path(path_type=Path, dir_okay=False),
        metavar=metavar,
        help=text,
    )
