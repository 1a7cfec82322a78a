"""The parts of examples/cpu-ceiling."""
