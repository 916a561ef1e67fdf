"""The application: its commands and their order in the help.

No module here imports, at its top, what takes long to load: help and mistakes are answered at once.
"""

from typing import Annotated

import typer

from ruleglm.cli import demo, explaining, exporting, fit, reporting, use

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Learn a few short if-then rules that predict a number, a probability or a count.",
)


def show_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        from ruleglm import __version__

        typer.echo(f"ruleglm {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Learn generalized linear rule models."""


COMMANDS = (
    fit.fit,
    fit.path,
    use.show,
    use.predict,
    explaining.explain,
    use.evaluate,
    reporting.report,
    exporting.export,
    demo.demo,
)

for one in COMMANDS:
    app.command()(one)
