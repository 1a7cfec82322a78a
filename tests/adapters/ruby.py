"""How the tests start Ruby programs at level `compiled`."""

from driver import SHALLOWER, Zygote, adapters_dir

RUBY = "/usr/bin/ruby"


def command(script, *switches, preload=""):
    return [RUBY, f"-I{adapters_dir()}/ruby/preload={preload}", f"-r{adapters_dir()}/ruby/start.rb",
            *switches, script]


def ruby_zygote(script, *switches, preload="", **more):
    return Zygote(command(script, *switches, preload=preload), level="compiled", **more)


def refusal(script, *switches, **more):
    with ruby_zygote(script, *switches, **more) as zygote:
        assert not zygote.stands
        return zygote.note(SHALLOWER)[0]
