"""How a run of the tests treats tests that fail, and whether its lists name what exists."""

import pathlib
import subprocess
import sys

from tree import TOP

sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests" / "runner")]

import sections  # noqa: E402
from kernels import chosen  # noqa: E402


def test_unsteady_tests_are_told_from_those_that_fail():
    done = subprocess.run([TOP / "tests" / "runner" / "show-unsteady"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert done.stdout.endswith("every outcome is as it should be\n")


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
