"""`accelflow completion`: scripts that complete commands, options and values in shells."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from accelflow.errors import refused

_SHELLS: Final = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes `accelflow` in SHELL.

    For the current session: `source <(accelflow completion bash)`, the same with zsh after
    `compinit`, or `accelflow completion fish | source`. For all sessions: see docs/command-line.md.
    """
    found = get_completion_class(shell)
    if found is None:
        allowed = "must be a shell that the installed package click can complete"
        raise refused("SHELL", shell, allowed)
    script = found(context.find_root().command, {}, "accelflow", "_ACCELFLOW_COMPLETE")
    click.echo(script.source_template % script.source_vars(), nl=False)
