"""Name the user's options and arguments in error messages."""

import copy
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import click
from click.core import ParameterSource

from accelflow.cli.places import check_written
from accelflow.errors import GIVEN, InputError, OutputError, refused

__all__ = ["file_once", "left_out", "naming_options", "once", "option_name"]

#: A field, perhaps with its index in a list, as in ``services[0]``.
_FIELD: Final = re.compile(r"(\w+)(\[\d+\])?")

_FILE: Final = click.Path(path_type=Path, dir_okay=False)

#: The field at the beginning of a refusal.
_REFUSED: Final = re.compile(r"(\w+) = ")


def option_name(parameter: click.Parameter) -> str:
    """Return the name of an option or argument in messages, such as ``--seed`` or ``WORKLOAD``."""
    if isinstance(parameter, click.Argument):
        return (parameter.metavar or str(parameter.name).upper()).strip("[].")
    return next((name for name in parameter.opts if name.startswith("--")), parameter.opts[0])


class _Context(click.Context):
    """A command's context whose refusals name options and arguments."""

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        tb: TracebackType | None,
    ) -> bool | None:
        """Close the context; in a refusal of a field that an option has set, name the option."""
        suppress = super().__exit__(exc_type, exc_value, tb)
        if isinstance(exc_value, InputError) and type(exc_value) in {InputError, OutputError}:
            place = exc_value.place or _place_in(str(exc_value))
            option = _option_of(place, self)
            if option is not None and option != place:
                raise type(exc_value)(str(exc_value), place).at(option) from exc_value
        return suppress

    def invoke(self, callback: Any, /, *arguments: Any, **options: Any) -> Any:
        """Run the command.

        Raises InputError for too many arguments, and for an output file or folder that cannot be
        written.
        """
        if self.args and not isinstance(self.command, click.Group):
            raise refused("argument", self.args[0], f"must be left out; see '{_help_of(self)}'")
        check_written(_typed(self))
        return super().invoke(callback, *arguments, **options)


def _help_of(context: click.Context) -> str:
    return f"{context.command_path} --help"


def _typed(context: click.Context) -> Iterator[tuple[click.Parameter, str, Any]]:
    """Yield the options and arguments on the command line, each with its name and its value."""
    for parameter in context.command.params:
        name = str(parameter.name)
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            yield parameter, option_name(parameter), context.params.get(name)


def left_out(context: click.Context, why: str, allowed: Collection[str] = ()) -> None:
    """Raise InputError if the user gave an option or argument that has no effect here.

    `allowed` has the names of click's parameters that do have an effect. `why` gives the reason:
    the message ends with ``must be left out`` and this text.
    """
    for parameter, option, value in _typed(context):
        if str(parameter.name) in allowed:
            continue
        first = value[0] if isinstance(value, tuple) and value else value
        shown = GIVEN if first is True else first
        raise refused(option, shown, f"must be left out{why}")


def _place_in(message: str) -> str | None:
    """Return the field that a refusal of the engine names, or None."""
    found = _REFUSED.match(message)
    return None if found is None else found.group(1)


def _option_of(place: str | None, context: click.Context) -> str | None:
    """Return the name of the option or argument that has set the field `place`, or None."""
    field = _FIELD.fullmatch(place or "")
    if field is None:
        return None
    for parameter in context.command.params:
        typed = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        if typed and field.group(1) in _fields_of(parameter):
            return option_name(parameter)
    return None


def _fields_of(parameter: click.Parameter) -> set[str]:
    """Return possible names of the field that `parameter` sets: scenario_file, scenario."""
    name = str(parameter.name)
    option = option_name(parameter).removeprefix("--").replace("-", "_").lower()
    return {name, name.removesuffix("_file"), option}


def naming_options(command: click.Command) -> click.Command:
    """Change `command` so that its error messages name the option at fault, and return it.

    Without this, an error about a value names the field that the option sets. Subcommands are
    changed, too.
    """
    if command.context_class is _Context:
        return command
    command.context_class = _Context
    for parameter in command.params:
        parameter.type = _refusing(parameter.type)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            naming_options(inner)
    else:
        command.allow_extra_args = True  # `_Context.invoke` refuses them
    return command


def _refusing(kind: click.ParamType[Any]) -> click.ParamType[Any]:
    """Return a copy of `kind` that refuses values in the form of all refusals."""

    def convert(value: Any, parameter: click.Parameter | None, context: Any) -> Any:
        if value == "" and isinstance(kind, click.Path) and parameter is not None:
            # click would take the empty text for the current folder.
            what = "file" if kind.file_okay else "folder"
            raise refused(option_name(parameter), value, f"must be the name of a {what}")
        try:
            return kind.convert(value, parameter, context)
        except click.BadParameter as error:
            place = "value" if parameter is None else option_name(parameter)
            refusal = _refusal(place, value, kind)
            raise (error if refusal is None else refusal) from error

    own = copy.copy(kind)
    # click's kinds have no common base that could be extended instead.
    own.convert = convert  # type: ignore[method-assign,assignment]
    return own


def _refusal(place: str, value: Any, kind: click.ParamType[Any]) -> InputError | None:
    """Build the refusal of `value` for an option of type `kind`. Return None for other types."""
    if isinstance(kind, click.Choice):
        return refused(place, value, known=[str(choice) for choice in kind.choices])
    allowed = _rule(kind, value)
    return None if allowed is None else refused(place, value, allowed)


def _rule(kind: click.ParamType[Any], value: Any) -> str | None:
    """Return the rule of `kind` that `value` breaks, a text that begins with ``must``."""
    match kind:
        case click.types.IntParamType():
            return f"must be a whole number{_range(kind)}"
        case click.types.FloatParamType():
            return f"must be a number{_range(kind)}"
        case click.Path():
            return _of_path(kind, Path(value))
    return None


def _range(kind: click.ParamType[Any]) -> str:
    """Return the words for the range of a type of numbers, such as `` from 1 to 9``."""
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is not None and most is not None:
        return f" from {_end(least)} to {_end(most)}"
    if least is not None:
        return f" of at least {_end(least)}"
    return "" if most is None else f" of at most {_end(most)}"


def _end(number: float) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


def _of_path(kind: click.Path[Any], path: Path) -> str:
    """Return the rule of `kind` that `path` breaks, a text that begins with ``must``."""
    what = "file" if kind.file_okay else "folder"
    if not path.exists():
        return f"must be a {what} that exists"
    if path.is_dir() and not kind.dir_okay:
        return "must be a file, not a folder"
    if not path.is_dir() and not kind.file_okay:
        return "must be a folder, not a file"
    return f"must be a {what} that can be read"


def once(_: click.Context, parameter: click.Parameter, values: tuple[object, ...]) -> object | None:
    """Check, as a callback of click, that an option was given at most once; return its value.

    None without the option. Raises InputError for a second value, which click alone would allow.
    """
    if len(values) > 1:
        raise refused(option_name(parameter), str(values[1]), "must be given only once")
    return values[0] if values else None


def file_once(
    *names: str, text: str, metavar: str = "FILE", kind: click.Path[Path] = _FILE
) -> Callable[[Any], Any]:
    """Return a click option whose value is the path of one file, or None if it is left out.

    `names` are the option's names, `text` its help, `metavar` the value's name in the help, and
    `kind` the value's type. The command refuses the option if it is given twice.
    """
    return click.option(
        *names,
        multiple=True,
        callback=once,
        type=kind,
        metavar=metavar,
        help=text,
    )
