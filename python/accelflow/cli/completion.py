"""`accelflow completion`: what makes a shell complete commands, options and their values."""

from typing import Final

import click
from click.shell_completion import get_completion_class

_SHELLS: Final = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes SHELL complete `accelflow`.

    For this session: `source <(accelflow completion bash)`, the same with zsh after `compinit`, or
    `accelflow completion fish | source`. docs/command-line.md says how to keep it.
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    script = found(context.find_root().command, {}, "accelflow", "_ACCELFLOW_COMPLETE")
    click.echo(script.source_template % script.source_vars(), nl=False)
