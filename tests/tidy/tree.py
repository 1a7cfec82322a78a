"""The project's files, and the rules that the checks here share."""

import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]

# Which rooms of bridge/ a room may include, besides itself. The order is DESIGN's:
# base < {fastcgi, cgi, message, config, compare} < {router, loop} < {worker, limits} < pool
#      < shadow < gateway < admin < {cli, daemon}. loop is lower here, because rooms that need the time are
#      given its clock. shadow and upstream are additions; upstream has the client's side of fastcgi, which
#      worker and pool do not know. limits is below worker, whose launch() applies what it decides. journal
#      records what gateway sees; stacks belongs to a separate process that inspects a program; policy is
#      what pool decides without doing it; modules is what pool accepts of the modules to load in advance;
# migrate is what other servers' configurations say, for cli; doctor is what one of its commands knows;
# text is what config and compare both know about texts; upgrade is how one daemon takes over from another.
LAYERS = [
    ["base"],
    ["loop", "fastcgi", "cgi", "message", "text"],
    ["config", "compare"],
    ["router", "stacks", "sandbox", "migrate"],
    ["limits"],
    ["worker"],
    ["modules", "upstream", "policy"],
    ["pool"],
    ["shadow", "journal"],
    ["gateway"],
    ["admin"],
    ["doctor"],
    ["cli", "upgrade"],
    ["daemon"],
]

# Pairs that the layers alone do not forbid: these two meet only in gateway (and where everything is wired).
NEVER = {"pool": {"fastcgi"}, "admin": {"fastcgi"}, "worker": {"fastcgi"}, "loop": {"fastcgi"}}

# The headers that both sides share: for a channel, and for the steps before a program is executed.
SHARED_WITH_ADAPTERS = {"message/wire.h", "message/path_sum.h", "sandbox/steps.h"}

SOURCE_ENDINGS = {".c", ".cc", ".h"}


def allowed():
    """{room: the rooms that it may include}"""
    table, below = {}, set()
    for layer in LAYERS:
        for room in layer:
            table[room] = {room} | below - NEVER.get(room, set())
        below |= set(layer)
    return table


def rooms():
    return sorted(path.name for path in (TOP / "bridge").iterdir() if path.is_dir())


def files(*folders, endings=None):
    """The project's own files under these folders (without any: all files): those that git has or would add,
    so nothing that a build made."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached",
                             "--others", "--exclude-standard", *folders],
                            cwd=TOP, capture_output=True, check=True).stdout.decode()
    found = sorted({TOP / name for name in listed.split("\0") if name})
    return [path for path in found
            if path.is_file() and (endings is None or path.suffix in endings)]


def sources(*folders):
    return files(*(folders or ("bridge", "adapters", "examples", "tests")), endings=SOURCE_ENDINGS)


def name(path):
    return str(path.relative_to(TOP))


def room_of(path):
    """The room of a file in bridge/: its folder, or daemon for main.cc and daemon.*."""
    parts = path.relative_to(TOP / "bridge").parts
    return parts[0] if len(parts) > 1 else "daemon"


def complain(problems):
    assert not problems, "\n" + "\n".join(problems)
