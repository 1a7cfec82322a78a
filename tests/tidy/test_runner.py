"""How a run of the tests treats tests that fail, and whether its lists name what exists."""

import pathlib
import subprocess
import sys

from tree import TOP

sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests" / "runner")]

import sections  # noqa: E402
from kernels import chosen  # noqa: E402
from pace import SECONDS, Pace  # noqa: E402


def test_unsteady_tests_are_told_from_those_that_fail():
    done = subprocess.run([TOP / "tests" / "runner" / "show-unsteady"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert done.stdout.endswith("every outcome is as it should be\n")


def test_more_parts_run_only_while_the_processors_idle():
    now, counts = [0], [0, 0]
    pace = Pace(2, 4, ticks=lambda: tuple(counts), now=lambda: now[0])

    def allows_after(idle, running):
        now[0] += SECONDS
        counts[0] += idle
        counts[1] += 100
        return pace.allows(running)

    assert pace.allows(0) and pace.allows(1) and not pace.allows(2)
    assert allows_after(50, 2) and not pace.allows(3)  # nothing is known of the one that has just begun
    assert allows_after(50, 3) and not allows_after(50, 4)
    assert not allows_after(5, 2) and allows_after(5, 1)
    assert 0 < pace.idle() < 1


def test_every_section_has_its_place_and_its_packages():
    usual = next(line for line in (TOP / "tests" / "run").read_text().splitlines()
                 if line.startswith("usual="))
    named = {*usual.removeprefix("usual=").strip('"').split(), "build", "slow", "kernels-all"}
    assert named == set(sections.ORDER)
    headers = [set(line.strip("[]").split()) for line in (TOP / "tests" / "packages").read_text().splitlines()
               if line.startswith("[")]
    assert set().union(*headers) == named | {"all", "demo", "bench", "cross"}


def test_what_is_not_sanitized_or_goes_first_is_there():
    files = {path.stem.removeprefix("test_") for path in (TOP / "tests").glob("*/test_*.py")}
    assert sections.NOT_SANITIZED <= files and set(sections.LONGEST) <= files


def test_guests_run_files_that_are_there():
    words = [word for parts in chosen.TESTS.values() for words in parts.values() for word in words]
    missing = [word for word in words if word.endswith(".py") and not pathlib.Path(TOP / word).is_file()]
    assert not missing


def test_the_readme_names_what_the_build_needs():
    words = (TOP / "README.md").read_text().split("apt-get install", 1)[1].split("cmake -S", 1)[0]
    named = set(words.replace("\\", " ").split())
    lines = (TOP / "tests" / "packages").read_text().split("[all]\n", 1)[1].split("\n\n", 1)[0].splitlines()
    assert named == {line.split("#")[0].strip() for line in lines} - {"python3"}
