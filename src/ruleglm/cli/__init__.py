"""The command line: ``ruleglm``."""

from ruleglm.cli.app import app

__all__ = ["app"]
