"""Includes and links point only downward, as DESIGN's table says."""

import re

from tree import (LAYERS, SHARED_WITH_ADAPTERS, TOP, allowed, complain, files, name, room_of, rooms,
                  sources)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes_of(path):
    return INCLUDE.findall(path.read_text())


def test_every_room_has_a_place_in_the_table():
    known = {room for layer in LAYERS for room in layer}
    complain([f"bridge/{room}: not in the table" for room in rooms() if room not in known])


def test_includes_point_downward_only():
    table, problems = allowed(), []
    for path in sources("bridge"):
        room = room_of(path)
        for quote, target in includes_of(path):
            other = target.partition("/")[0]
            if quote == '"' and other in table and other not in table[room]:
                problems.append(f"{name(path)}: {room} may not include {target}")
    complain(problems)


def test_own_headers_are_named_from_bridge_on():
    problems = []
    for path in sources("bridge"):
        for quote, target in includes_of(path):
            if quote == '"' and not (TOP / "bridge" / target).is_file():
                problems.append(f'{name(path)}: "{target}" is no header of bridge/')
    complain(problems)


def test_only_loop_includes_libuv():
    problems = [f"{name(path)}: includes {target}" for path in sources("bridge", "adapters")
                for _, target in includes_of(path)
                if re.match(r"uv(\.h|/)", target) and not name(path).startswith("bridge/loop/")]
    complain(problems)


# The machine's clocks; a process's clock, which gives its used processor time, is allowed.
CLOCK = re.compile(r"\b(system_clock|steady_clock|high_resolution_clock|Clock)::now\b|"
                   r"\b(clock_gettime|gettimeofday|timespec_get)\s*\(|[^\w.>]time\s*\((nullptr|NULL|0)\)")
ASKS_FOR_PROCESSOR_TIME = {"bridge/upstream/process_marks.cc"}


def test_only_loop_asks_a_clock():
    """All other rooms are given the time (loop/clock.h), so that a test can move it."""
    problems = []
    for path in sources("bridge"):
        if name(path).startswith("bridge/loop/") or name(path) in ASKS_FOR_PROCESSOR_TIME:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if CLOCK.search(line.partition("//")[0]):
                problems.append(f"{name(path)}:{number}: asks a clock; loop/clock.h has the time")
    complain(problems)


def test_pure_rooms_do_no_input_or_output():
    forbidden = re.compile(r"^(sys/socket|sys/epoll|poll|unistd|fcntl|fstream|iostream|thread)(\.h)?$")
    problems = [f"{name(path)}: includes {target}"
                for path in sources("bridge/fastcgi", "bridge/cgi", "bridge/text", "bridge/compare",
                                    "bridge/policy")
                for _, target in includes_of(path) if forbidden.match(target)]
    complain(problems)


def test_adapters_share_three_headers_with_the_bridge():
    own = {path.name for path in sources("adapters")}
    problems = []
    for path in sources("adapters"):
        for quote, target in includes_of(path):
            if quote == '"' and target not in SHARED_WITH_ADAPTERS and target.split("/")[-1] not in own:
                problems.append(f"{name(path)}: includes {target}")
    complain(problems)


def linked_by(room):
    """The rooms that this one's CMakeLists.txt links; None if it declares no such room."""
    text = re.sub(r"#.*", "", (TOP / "bridge" / room / "CMakeLists.txt").read_text())
    declared = re.search(r"cgibridge_room\(\s*(\w+)([^)]*)\)", text)
    if not declared or declared.group(1) != room:
        return None
    uses = re.search(r"\bUSES\b(.*?)(\bLIBS\b|$)", declared.group(2), re.DOTALL)
    return set(uses.group(1).split()) if uses else set()


def with_cmake():
    return sorted(path.parent.name for path in (TOP / "bridge").glob("*/CMakeLists.txt"))


def test_libraries_link_what_the_table_allows():
    table, problems = allowed(), []
    for room in with_cmake():
        linked = linked_by(room)
        if linked is None:
            problems.append(f"bridge/{room}/CMakeLists.txt: declares no room {room}")
            continue
        problems += [f"{room}: may not use {other}" for other in sorted(linked - table.get(room, set()))]
        needed = {target.partition("/")[0] for source in files(f"bridge/{room}", endings={".cc", ".h"})
                  for quote, target in includes_of(source) if quote == '"'} - {room}
        problems += [f"{room}: includes {other} and does not use it"
                     for other in sorted(needed & set(table) - closure(linked))]
    complain(problems)


def closure(linked):
    """The rooms that these rooms bring along, as CMake passes them on."""
    found, todo = set(), list(linked)
    while todo:
        room = todo.pop()
        if room not in found:
            found.add(room)
            todo += linked_by(room) or []
    return found


def test_pages_name_the_rooms_that_are_used():
    """A page's sentence "Includes `base`, ..." must match its CMakeLists.txt."""
    problems = []
    for room in with_cmake():
        page = " ".join((TOP / "bridge" / room / "README.md").read_text().split())
        said = re.search(r"\bIncludes ([^.;]*)[.;]", page)
        if said is None:
            problems.append(f'bridge/{room}/README.md: has no sentence "Includes ..."')
            continue
        named = set(re.findall(r"`(\w+)`", said.group(1)))
        linked = linked_by(room) or set()
        problems += [f"bridge/{room}/README.md: does not name {other}" for other in sorted(linked - named)]
        problems += [f"bridge/{room}/README.md: names {other}, which it does not use"
                     for other in sorted(named - linked)]
    complain(problems)
