"""Every function of libc is classified by what it may leave behind in a process
(adapters/checkpoint/calls/libc_functions.txt). The new functions of a newer libc must be classified
before any program calls them."""

import pathlib
import re
import subprocess

import pytest

from driver import library

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "adapters" / "checkpoint"
KINDS = {"interposed", "asked", "system", "harmless"}


def table():
    """{how they are handled: names}"""
    text = re.sub(r"^#.*\n", "", (SOURCES / "calls/libc_functions.txt").read_text(), flags=re.MULTILINE)
    parts = re.split(r"^\[(.*)\]$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], [part.split() for part in parts[2::2]]))


def watched():
    """Functions that are watched only while a zygote loads, in addition to their class."""
    lists = [(SOURCES / "load" / name).read_text() for name in ("load_calls.h", "answers.h")]
    return set(re.findall(r"X\((\w+),", "".join(lists)))


def generators():
    """Functions of other libraries."""
    return set(re.findall(r"X\((\w+),", (SOURCES / "load/generators.h").read_text()))


def exported(path):
    """{name: version} of functions, except those internal to libc."""
    lines = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    found = {}
    for _, kind, name in (line.split() for line in lines):
        name, _, version = name.partition("@")
        if kind in "TWi" and version.lstrip("@") != "GLIBC_PRIVATE":
            found[name] = version
    return found


def libc():
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if re.search(r"/libc\.so\.6$|/libc-2\.\d+\.so$", line))


@pytest.fixture(scope="module")
def functions():
    return exported(libc())


def test_each_function_is_in_one_place():
    names = [name for group in table().values() for name in group]
    assert sorted(names) == sorted(set(names))
    assert {re.match(r"\w+", head)[0] for head in table()} == KINDS


def test_every_function_of_this_machine_s_libc_is_in_the_table(functions):
    assert len(functions) > 2000
    known = {name for group in table().values() for name in group}
    assert sorted(set(functions) - known) == []


def test_what_is_to_be_interposed_is(functions):
    ours = exported(library())
    wanted = {name for head, group in table().items() if head.startswith("interposed") for name in group}
    assert sorted(wanted & set(functions) - set(ours)) == []


def test_what_is_interposed_is_said_to_be(functions):
    """Except those of other libraries."""
    wanted = {name for head, group in table().items() if head.startswith("interposed") for name in group}
    assert sorted(set(exported(library())) & set(functions) - wanted - watched()) == []


def test_a_program_is_offered_nothing_that_its_libc_lacks(functions):
    """The program may look it up, and would do without it."""
    assert generators() <= set(exported(library()))
    assert sorted(set(exported(library())) - set(functions) - generators()) == [
        "Tcl_Init", "_ZNSt13random_device16_M_getval_pretr1Ev",
        "_ZNSt13random_device9_M_getvalEv", "rb_define_global_function", "rb_define_method",
        "rb_define_module_function", "rb_define_singleton_method", "rb_define_virtual_variable",
        "ruby_options", "ruby_run_node"]


def test_who_asks_the_kernel_is_there():
    text = "\n".join(path.read_text() for path in SOURCES.rglob("*.c"))
    for head in table():
        if head.startswith("asked"):
            function = head.split()[1].rstrip(":")
            assert re.search(rf"\b{function}(\(|\b.*@function)", text), head
