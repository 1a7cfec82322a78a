"""Each context of a Node program has random numbers of its own in each request, although V8 seeds them by
numbers from one generator that was seeded before the checkpoint."""

import os

import pytest

from driver import SHALLOWER
from node import needs_node, stand

pytestmark = [needs_node, pytest.mark.skipif(os.uname().machine != "x86_64", reason="threads stay elsewhere")]
SWITCHES = ("--experimental-shadow-realm",)
PACKAGE = """
const vm = require('vm');
const text = 'Math.random()';
exports.drawn = () => {
  const context = vm.createContext({});
  return [vm.runInNewContext(text), new vm.Script(text).runInNewContext(), vm.runInContext(text, context),
          vm.runInContext(text, context),
          vm.compileFunction('return ' + text, [], { parsingContext: context })(),
          vm.runInContext('[1].map(Math.random)[0]', context), vm.runInThisContext(text),
          new ShadowRealm().evaluate(text), Math.random()];
};
"""


@pytest.fixture
def program(tmp_path):
    def program(package, main):
        (tmp_path / "package.js").write_text(package)
        (tmp_path / "main.js").write_text(main)
        return str(tmp_path / "main.js")
    return program


@pytest.mark.parametrize("reset", ["rewind", "fork"])
@pytest.mark.parametrize("named", ["", "require('vm');"])
def test_each_context_draws_its_own_numbers_in_each_request(program, reset, named):
    script = program(PACKAGE, f"{named} console.log(...require('./package').drawn());")
    with stand(script, reset, SWITCHES) as zygote:
        assert zygote.reset == reset and zygote.note(SHALLOWER) == []
        drawn = [word for _ in range(6) for word in zygote.ask().text.split()]
        assert len(set(drawn)) == len(drawn) == 6 * 9
        assert zygote.workers == (1 if reset == "rewind" else 6)


def test_numbers_that_were_drawn_before_the_checkpoint_are_noticed(program):
    """As by a module that does in its trial what it does not do otherwise."""
    script = program("if (!require('util').types.isProxy(process.env)) Math.random();",
                     "require('./package'); console.log(Math.random());")
    with stand(script) as zygote:
        answers = [zygote.ask() for _ in range(3)]
        assert len({answer.text for answer in answers}) == 3
        assert "seeded before the checkpoint" in str(answers[0].notes)
