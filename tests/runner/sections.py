"""The contents of each section of the tests."""

import os
import pathlib

from kernels import chosen
from parts import TOP, FuzzTarget, GoogleTests, GuestTests, PytestFile, Simulations

PLAIN, SANITIZED = "build", "build-asan"

# The order in which they begin: those that take long, or have the longest parts, come first.
ORDER = ["build", "slow", "kernels-all",
         "kernels", "integration", "faults", "fidelity", "sanitize", "adapters", "package", "unit", "tidy",
         "fuzz"]

# Files of integration that mainly test programs, web servers or scripts. Other files cover the bridge code
# that they use, so they do not run under the sanitizers.
NOT_SANITIZED = {
    "ab_compare", "ab_compare_live", "containers", "cpu_ceiling", "drop_in", "exec_wrappers",
    "executed_and_held", "executed_static", "field", "front_ends", "go_programs", "guestbooks", "hellos",
    "ikiwiki", "java", "linked_languages", "migrate", "node", "node_loading", "page", "peers", "php",
    "ready_files", "real_programs", "rlimits", "sandbox_outside", "soak", "switching", "wasm_bodies",
    "wasm_components", "wasm_many", "webservers",
}
# The files that take longest, which are not the largest ones.
LONGEST = ["under_load", "leaks", "node_leaks", "mixes", "java", "guestbooks", "thousand_requests", "node",
           "java_leaks", "real_programs", "check", "webservers", "start_variables", "executed",
           "ab_compare_live", "pure_ruby", "hellos", "node_loading", "front_ends", "drop_in", "field",
           "reload_files", "persistent", "soak", "exec_wrappers", "rlimits", "linked_languages", "static",
           "ruby", "rewind_unique", "processor_time", "natives"]


def builds_of(sections):
    """The build folders that these sections need."""
    sanitized = {"sanitize", "fuzz"} & set(sections)
    plain = set(sections) - {"sanitize", "fuzz", "tidy"}
    return ([PLAIN] if plain else []) + ([SANITIZED] if sanitized else [])


def parts_of(section, folder):
    """The parts of a section, after its builds are made; folder: for what they leave."""
    makers = {
        "unit": lambda: google_tests("unit", PLAIN),
        "tidy": lambda: pytest_files("tidy", "tidy", PLAIN),
        "sanitize": lambda: google_tests("sanitize", SANITIZED) + sanitized_files(),
        "fuzz": lambda: fuzz_targets(folder),
        "kernels": lambda: guest_tests("kernels", "few"),
        "kernels-all": lambda: (pytest_files("kernels-all", "kernels", PLAIN)
                                + guest_tests("kernels-all", "all")),
        "slow": lambda: simulations("slow", PLAIN) + [
            part for name in ("integration", "fidelity", "faults")
            for part in pytest_files("slow", name, PLAIN, "slow", alone=True)],
        "build": list,
    }
    return makers.get(section, lambda: pytest_files(section, section, PLAIN, "not slow"))()


def pytest_files(section, name, build, marks="", alone=False):
    """A part for each file of the folder tests/name; those that take longest come first."""
    paths = sorted((TOP / "tests" / name).glob("test_*.py"), key=lambda path: -path.stat().st_size)
    paths.sort(key=lambda path: rank(path.stem.removeprefix("test_")))
    if marks == "slow":
        paths = [path for path in paths if "mark.slow" in path.read_text()]
    return [PytestFile(section, path.relative_to(TOP), build, marks, alone) for path in paths]


def rank(name):
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def sanitized_files():
    marks = "not slow and not plain_build"
    return [part for part in pytest_files("sanitize", "integration", SANITIZED, marks)
            if part.name not in NOT_SANITIZED]


def google_tests(section, build):
    binaries = sorted((TOP / build / "tests" / "unit").glob("unit_*"))
    return [GoogleTests(section, binary) for binary in binaries
            if binary.is_file() and os.access(binary, os.X_OK)]


def simulations(section, build):
    rooms = {path.parent.name for path in (TOP / "tests" / "unit").glob("*/simulation_test.cc")}
    return [Simulations(part.section, part.binary) for part in google_tests(section, build)
            if part.binary.name.removeprefix("unit_") in rooms]


def fuzz_targets(folder):
    binaries = sorted((TOP / SANITIZED / "tests" / "fuzz").glob("*_fuzz"))
    corpus = TOP / "tests" / "fuzz" / "corpus"
    return [FuzzTarget("fuzz", binary, corpus / binary.name.removesuffix("_fuzz"), pathlib.Path(folder))
            for binary in binaries]


def guest_tests(section, extent):
    return [GuestTests(section, name, words, PLAIN) for name, words in chosen.TESTS[extent].items()]
