"""Shared by the tests of Node."""

import os

import pytest

from driver import Zygote, adapters_dir, run_plainly

NODE = os.environ.get("CGIBRIDGE_NODE", "/usr/bin/node")  # another version than the machine's
START = f"{adapters_dir()}/node/start.js"

needs_node = pytest.mark.skipif(not os.path.exists(NODE), reason="no node")


def node_argv(script, switches=()):
    return [NODE, "--require", START, *switches, script]


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
