"""Zygotes of Python's adapter."""

import re

from driver import Zygote, adapters_dir, run_plainly

PYTHON = "/usr/bin/python3"


def python_argv(script, preload="", switches=(), python=PYTHON):
    return [python, *switches, f"{adapters_dir()}/python/start.py", f"--preload={preload}", script]


def python_zygote(script, preload="", switches=(), python=PYTHON, **more):
    return Zygote(python_argv(script, preload, switches, python), level="compiled", **more)


def answers_like_plain(script, preload="", switches=(), words=(), body=b"", env=None,
                       python=PYTHON, in_order=True):
    """in_order: whether the lines of the output have to come in the same order."""
    def seen(answer):
        output, errors, code = answer.seen()
        errors = re.sub(rb" at 0x[0-9a-f]+", b"", errors)  # where an object lies
        return (output, errors, code) if in_order else (sorted(output.splitlines()), errors, code)
    plain = run_plainly([python, *switches, script, *words], body=body, env=env)
    with python_zygote(script, preload, switches, python) as zygote:
        for _ in range(3):
            answer = zygote.worker().request([script, *words], body=body, env=env)
            assert seen(answer) == seen(plain)
    return answer
