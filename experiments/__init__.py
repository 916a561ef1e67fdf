"""The paper's study as a program: ``python -m experiments.paper``."""
