"""Run the command line with ``python -m ruleglm.cli``."""

from ruleglm.cli.app import app

app(prog_name="ruleglm")
