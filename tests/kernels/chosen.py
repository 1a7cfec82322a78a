"""Which tests run in guests with another kernel: pytest's arguments, by extent and by guest. After -k come
names of tests, or parts of names. `few` has what no other test proves: that the bridge and the library find
and use soft-dirty bits, and that programs run under the profile for AppArmor."""

TRACKING, LEAKS = "tests/kernels/inside/test_tracking.py", "tests/kernels/inside/test_leaks_by_tracking.py"
APPARMOR = "tests/kernels/inside/test_apparmor.py"
REWIND = "tests/integration/test_rewind.py"
ADAPTERS = [f"tests/adapters/test_rewind{part}.py"
            for part in ("", "_endings", "_memory", "_retirement", "_unique")]
TESTS = {
    "few": {
        "a guest": [TRACKING, APPARMOR, ADAPTERS[0], ADAPTERS[2], "-k",
                    "(test_tracking and (first_choice or (rewinds_by_it and auto and perl))) or "
                    "(every_way and soft-dirty and perl-compiled) or (auto and anew) or apparmor"],
    },
    "all": {
        "bridge": [TRACKING, REWIND, "-k", "not scan"],
        "pages": [*ADAPTERS, "-k", "not scan"],
        "leaks": [LEAKS],
        "cgroups": ["tests/kernels/inside/test_cgroups_v2.py"],
    },
}
# For aarch64 (tests/cross), by release of its kernel: 6.1 finds changed pages by comparing, 6.12 by
# PAGEMAP_SCAN. What is for x86-64 alone skips itself.
CROSS_ADAPTERS = [f"tests/adapters/test_{part}.py" for part in (
    "rewind_registers", "first_state", "rewind", "rewind_endings", "rewind_memory", "rewind_threads",
    "rewind_blanks", "rewind_retirement", "rewind_unique", "checkpoint_descriptors", "checkpoint_threads",
    "letting_go", "kept_streams", "clean", "children", "call", "libc_functions", "perl", "python", "ruby",
    "tcl", "node", "static", "go_at_main")]
CROSS = {
    "bookworm": [*CROSS_ADAPTERS, LEAKS, "-k", "not scan and not soft-dirty"],
    "trixie": [*CROSS_ADAPTERS[:7], LEAKS, "-k", "not soft-dirty"],
}
