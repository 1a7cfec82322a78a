"""Starts a Python program at its checkpoint; what it does is in starter.py.

    python3 SWITCHES start.py --preload=a,b,c SCRIPT [WORD ...]
"""

import sys

starter = {"__name__": "cgibridge.starter"}
for name in ("watched.py", "ahead.py", "fresh.py", "ending.py", "again.py", "starter.py"):
    path = __file__[: -len("start.py")] + name
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), starter)
# The script gets a __main__ of its own.
starter["run"](globals())
