"""The option ``--print-rules`` of commands that sort the functions of profiles by rules."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from accelflow.cli.naming import option_name
from accelflow.errors import GIVEN, refused

__all__ = ["RulesCommand", "print_rules"]

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)

_NAME: Final = "print_rules"


class RulesCommand(click.Command):
    """A command with the option ``--print-rules``, which must be given alone."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line `args`.

        Raises InputError for an option or argument beside ``--print-rules``, since it would have no
        effect.
        """
        if ctx.resilient_parsing:  # for the completion of shells
            return super().parse_args(ctx, args)
        # The option ends the command before click has read the others.
        given, _, order = self.make_parser(ctx).parse_args(list(args))
        for parameter in order if given.get(_NAME) else ():
            value = given.get(str(parameter.name))
            first = value[0] if isinstance(value, tuple | list) and value else value
            if parameter.name not in {_NAME, "help"} and isinstance(first, str | bool):
                shown = GIVEN if first is True else first
                allowed = "must be left out with --print-rules, which reads nothing"
                raise refused(option_name(parameter), shown, allowed)
        return super().parse_args(ctx, args)


def print_rules(rules: str) -> Callable[[_Command], _Command]:
    """Return the option ``--print-rules`` of a :class:`RulesCommand`, which prints `rules`."""

    def echo(context: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked:
            click.echo(rules, nl=False)
            context.exit()

    return click.option(
        "--print-rules",
        _NAME,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=echo,
        help="Print the built-in rules, for editing, and exit.",
    )
