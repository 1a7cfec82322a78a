"""Go programs in calls that a signal ends early, or leaves half done, though its handler asks the kernel to
go on: the timer of a request that makes the parked threads again must not come into one."""

import contextlib

import pytest

from driver import REQUEST_ENV, run_plainly
from test_go_at_main import EXTERNAL, INTERNAL, STATIC, build, deeds_of, pytestmark, standing  # noqa: F401

TIMES = 3


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Each is built, and stands, once."""
    folder = tmp_path_factory.mktemp("go")
    stands = {}
    with contextlib.ExitStack() as ends:
        def program(name, way):
            if (name, way) not in stands:
                path = build(folder, name, way)
                stands[name, way] = path, ends.enter_context(standing(path))
            return stands[name, way]
        yield program


def uninterrupted(answer, most):
    """On a busy machine Go's runtime may interrupt a call by its own signal, in a plain process as well: one
    of 300 here."""
    for _ in range(most):
        seen = answer().seen()
        if b"interrupted" not in seen[0]:
            break
    return seen


def answers_as_plainly(program, stand, deed):
    env = {**REQUEST_ENV, "DEED": deed}
    plain = uninterrupted(lambda: run_plainly([program], env=env), 5)
    for reset in ("rewind", "fork"):
        for _ in range(TIMES):
            assert uninterrupted(lambda: stand(reset).ask(env=env), 2) == plain, reset


@pytest.mark.parametrize("way", [STATIC, INTERNAL])
@pytest.mark.parametrize("deed", deeds_of("waits"))
def test_a_call_of_go_is_not_ended_early(programs, deed, way):
    answers_as_plainly(*programs("waits", way), deed)


@pytest.mark.parametrize("deed", deeds_of("c_waits"))
def test_a_call_of_c_code_is_not_ended_early(programs, deed):
    answers_as_plainly(*programs("c_waits", EXTERNAL), deed)
