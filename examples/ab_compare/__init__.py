"""The parts of examples/ab-compare: see README.md there."""


class Problem(Exception):
    """Something that stops the comparison, in words for the person who started it."""
