"""Starts a Python program at its checkpoint; what it does is in starter.py.

    python3 SWITCHES start.py --preload=a,b,c SCRIPT [WORD ...]
"""

import sys

STARTER = __file__[: -len("start.py")] + "starter.py"
starter = {"__name__": "cgibridge.starter", "__file__": STARTER}
with open(STARTER, "rb") as file:
    exec(compile(file.read(), STARTER, "exec"), starter)
# Takes every name above out of this module: it becomes the script's __main__.
starter["run"](globals())
