"""The parts of examples/ab-compare: see README.md there."""


class Problem(Exception):
    """What keeps the comparison from going on, in words for the person who started it."""
