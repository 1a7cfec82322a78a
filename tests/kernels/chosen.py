"""Which tests run in guests with another kernel: pytest's arguments, by extent and by guest. After -k come
names of tests, or parts of names. `few` has what no other test proves: that the bridge and the library find
and use soft-dirty bits."""

TRACKING, LEAKS = "tests/kernels/inside/test_tracking.py", "tests/kernels/inside/test_leaks_by_soft_dirty.py"
REWIND = "tests/integration/test_rewind.py"
ADAPTERS = [f"tests/adapters/test_rewind{part}.py"
            for part in ("", "_endings", "_memory", "_retirement", "_unique")]
TESTS = {
    "few": {
        "a guest": [TRACKING, ADAPTERS[0], ADAPTERS[2], "-k",
                    "(test_tracking and (first_choice or (rewinds_by_it and auto and perl))) or "
                    "(every_way and soft-dirty and perl-compiled) or (auto and anew)"],
    },
    "all": {
        "bridge": [TRACKING, REWIND, "-k", "not scan"],
        "pages": [*ADAPTERS, "-k", "not scan"],
        "leaks": [LEAKS],
        "cgroups": ["tests/kernels/inside/test_cgroups_v2.py"],
    },
}
