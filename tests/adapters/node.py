"""Shared by the tests of Node."""

import os
import re

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, Warm, Zygote, adapters_dir, run_plainly

NODE = os.environ.get("CGIBRIDGE_NODE", "/usr/bin/node")  # another version than the machine's
START = f"{adapters_dir()}/node/start.js"
BEFORE = ["--require", START, "--min-semi-space-size=16"]  # as the bridge launches it

needs_node = pytest.mark.skipif(not os.path.exists(NODE), reason="no node")


def node_argv(script, switches=()):
    return [NODE, *BEFORE, *switches, script]


class Ahead(Zygote):
    """A process started in advance, which becomes its own worker."""

    def __init__(self, script, switches=(), reset="fork", **more):
        super().__init__(node_argv(script, switches), level="booted",
                         reset=f"{reset} ahead", **more)

    def ask(self, *words, **more):
        if not self.living:
            self.worker()
        return self.living[0].request([*words], **more)


def ask_once(script, *words, switches=(), launch_env=None, **request):
    with Ahead(script, switches, env=launch_env) as ahead:
        return ahead.ask(NODE, *switches, script, *words, **request)


def answers_like_plain(script, switches=(), words=(), body=b"", env=None, launch_env=None):
    plain = run_plainly([NODE, *switches, script, *words], body=body, env=env)
    answer = ask_once(script, *words, switches=switches, launch_env=launch_env, body=body, env=env)
    assert answer.seen() == plain.seen()
    return answer


def found_by_trial(zygote):
    """(how many modules were loaded ahead, what was noted, why no more)"""
    with open(f"/proc/{zygote.process.pid}/environ", "rb") as file:
        [said] = re.findall(rb"CGIBRIDGE_TRIAL=([^\0]*)", file.read())
    noted, _, why = said.decode().partition(" ")
    count, *used = noted.split(",")
    return count if count == "imports" else int(count), used, why


def stand(script, reset="rewind", switches=(), **env):
    zygote = Warm([NODE, *BEFORE, *switches, script], level="compiled", reset=reset, has_pipe=True,
                  env={**LAUNCH_ENV, "OWN": os.path.dirname(script), **env})
    zygote.argv = [NODE, *switches, script]
    return zygote


def request_of(script, **env):
    return {"env": {**REQUEST_ENV, "HTTP_HOST": "a.example", "OWN": os.path.dirname(script), **env},
            "body": b"the body"}


def seen(answer):
    """Without the process's number in a warning."""
    return answer.stdout, re.sub(rb"node:\d+", b"node", answer.stderr), answer.code
