"""What the library calls while a static program's registers are in place: there is no thread block of libc's
then: a function which looks at its stack guard (%fs:0x28) ends the program. Whether one does depends on
the processor: strstr() is assembly on some and C on others. So the functions are listed here, not tried."""

import glob
import os
import re
import subprocess

import pytest

from driver import adapters_dir

# Of libc, without a buffer of their own on any processor.
PLAIN = {"memchr", "memcmp", "memcpy", "memset", "strchr", "strcmp", "strlen", "strncmp", "strrchr"}
# Called with libc's thread block: in libc_enter(), or before the program is entered.
WITH_BLOCK = {
    "linked.c": {"dl_iterate_phdr", "on_exit", "sched_yield", "strncat"},
    "map.c": {"mallopt", "memfd_create", "pread", "snprintf", "strerror", "strncpy"},
    "main_place.c": {"pread"},
    "program.c": {"snprintf", "stpcpy"},
    "watch.c": {"snprintf", "strcpy"},
}
# Not functions.
NAMES = {"_GLOBAL_OFFSET_TABLE_", "__ehdr_start", "_end", "environ", "__errno_location"}


def symbols(how, *objects):
    lines = subprocess.run(["nm", how, *objects], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^[0-9a-f ]*[A-Za-z] (\w+)$", lines, re.M))


def objects_below(*folders):
    top = os.path.join(adapters_dir(), "checkpoint", "CMakeFiles", "cgibridge_checkpoint.dir")
    return [path for folder in folders for path in sorted(glob.glob(f"{top}/{folder}/*.o"))]


def test_only_functions_without_a_stack_guard_are_called():
    objects = objects_below("go", "static")
    if not objects:
        pytest.skip("the objects of the build are not kept here")
    own = symbols("--defined-only", *objects_below("", "*"))
    called = {os.path.basename(path)[:-2]: symbols("-u", path) - own - NAMES - PLAIN for path in objects}
    unlisted = {name: names - WITH_BLOCK.get(name, set()) for name, names in called.items()}
    assert {name: names for name, names in unlisted.items() if names} == {}
    assert {name: names for name, names in WITH_BLOCK.items() if names - called[name]} == {}
