"""Programs that execute another one in the middle of their request: asked classic and warm."""

import json

from harness.processes import wait_until

WARM = 'mode = "persistent"\nrewind = { verify = 1 }'
PROGRAM = '[[program]]\nname = "x"\nmatch = "*"\n'


def stood_in(bridge, script):
    """How many requests other workers have answered in its place."""
    rows = [row for row in bridge.status()["programs"] if row["path"].startswith(f"{script} > ")]
    return sum(row["requests"] for row in rows)


def answers(bridge, script, times, **request):
    found = [bridge.request(script, **request) for _ in range(times)]
    return [(one.status, one.stderr, json.loads(one.body) if one.status == 200 else one.body)
            for one in found]


def differences(one, other):
    """What two answers say differently."""
    if one[0] != 200 or other[0] != 200:
        return {} if one == other else {"answer": (one, other)}
    names = {name for name in {*one[2], *other[2]} if one[2].get(name) != other[2].get(name)}
    return {name: (one[2].get(name), other[2].get(name)) for name in names} | (
        {"stderr": (one[1], other[1])} if one[1] != other[1] else {})


def warm_up(bridge, script, **request):
    """Until other workers answer; they are made with the first request that executes."""
    bridge.request(script, **request)
    bridge.wait_warm(script)
    before = stood_in(bridge, script)

    def answered():
        bridge.request(script, **request)
        return stood_in(bridge, script) > before
    wait_until(answered, "no other worker answered", 10)


def compare(site, bridge, script, **request):
    """Classic, then warm: the answers."""
    site.cgibridge("mode", "x", "classic", "--config", bridge.config)
    classic = answers(bridge, script, 1, **request)[0]
    site.cgibridge("mode", "x", "persistent", "--config", bridge.config)
    return classic
