"""Random fits of every kind: ``python -m tests.fuzz --minutes 5 [--seed N]``.

Each case is drawn from one number, its seed, and may be refused only by a documented error, for a
flaw that it was given. ``python -m tests.fuzz --case SEED`` runs one case again.
"""
