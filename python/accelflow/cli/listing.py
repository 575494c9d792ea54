"""Groups of commands whose help lists each command with its whole first sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

__all__ = ["Group", "write_commands"]


class Group(click.Group):
    """A group whose help does not cut off the descriptions of its commands.

    Click cuts a description that is wider than the line, and adds "...". This group breaks the
    description into lines instead.
    """

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of commands to `formatter`."""
        commands = [(name, self.get_command(context, name)) for name in self.list_commands(context)]
        write_commands(
            formatter,
            ((name, first_sentence(command.help or "")) for name, command in commands if command),
        )


def write_commands(formatter: click.HelpFormatter, rows: Iterable[tuple[str, str]]) -> None:
    """Write the section of commands to `formatter`: `rows` of name and description."""
    with formatter.section("Commands"):
        formatter.write_dl(list(rows))


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, or its first paragraph if that has no full stop.

    A full stop ends a sentence if a capital letter follows, so that "Fig. 11" ends none.
    """
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph, maxsplit=1)[0]
