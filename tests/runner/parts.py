"""The parts of a run: each is one process that runs tests, and knows how to run one of them again."""

import os
import pathlib
import sys

import results
from results import FAILED, PASSED, Outcome

TOP = pathlib.Path(__file__).resolve().parents[2]

# Used instead of a test's key if the part itself failed: it crashed or could not begin.
WHOLE = ("", "")


class Part:
    """section/name is the title that people read. A part that is alone has the machine to itself. cwd is the
    folder in which its process begins."""

    minutes_max = 20  # after this it is ended, and has failed

    def __init__(self, section, name, alone=False, cwd=TOP):
        self.section, self.name, self.alone, self.cwd = section, name, alone, cwd

    @property
    def title(self):
        return f"{self.section}/{self.name}"

    def title_of(self, test):
        return self.title if test == WHOLE else f"{self.title} {self.name_of(test)}"

    def name_of(self, test):
        return test[1]

    def command(self, junit):
        """(words, additional environment) to run all of it; the command writes the file `junit`."""
        raise NotImplementedError

    def command_again(self, test, junit):
        """The same for one of its tests, by the test's key in the JUnit file."""
        raise NotImplementedError

    def outcomes(self, junit, status, said):
        """{test: Outcome}. A bad exit code without a failed test is a failure of the part itself."""
        found = results.read(junit)
        if status not in self.good_statuses and not results.count(found.values(), FAILED):
            found[WHOLE] = Outcome(FAILED, f"ended with {status} and no test that failed\n{said}")
        return found

    good_statuses = (0,)


class PytestFile(Part):
    """The tests of one file that carry, or do not carry, some marks (an expression for pytest's -m)."""

    good_statuses = (0, 5)  # 5: no test was selected

    def __init__(self, section, path, build, marks="", alone=False, cwd=TOP):
        path = pathlib.Path(path)
        name = path.stem.removeprefix("test_")
        super().__init__(section, name + (" alone" if alone else ""), alone, cwd)
        self.path, self.build, self.marks = path, build, marks
        if alone:
            self.minutes_max = 180  # the slow ones: half an hour of faults, 100,000 requests

    def name_of(self, test):
        return node_id(self.path, test).partition("::")[2]

    def command(self, junit):
        return self._pytest(junit, [str(self.path), *(["-m", self.marks] if self.marks else [])])

    def command_again(self, test, junit):
        # Without the marks, because this test was selected before.
        return self._pytest(junit, [node_id(self.path, test)])

    def _pytest(self, junit, words):
        return ([sys.executable, "-m", "pytest", *pytest_options(junit), *words],
                {"CGIBRIDGE_BUILD": str(self.cwd / self.build)})


def pytest_options(junit):
    return ["-q", "-rfEs", "-p", "no:cacheprovider", "-o", "junit_logging=all",
            "-o", "junit_log_passing_tests=false", f"--junitxml={junit}"]


def node_id(path, test):
    """pytest's own name for a test, from what it wrote into the JUnit file."""
    classname, name = test
    module = str(path.with_suffix("")).replace(os.sep, ".")
    classes = classname.removeprefix(module).strip(".")
    return "::".join([str(path), *filter(None, classes.split(".")), name])


class GoogleTests(Part):
    """The unit tests of one room, in one process."""

    minutes_max = 10
    # Of the two simulations, each of which plays 2,000 events per seed.
    seeds = {"unit": "100", "sanitize": "3", "slow": "1000"}

    def __init__(self, section, binary):
        super().__init__(section, binary.name, cwd=binary.parent)
        self.binary = binary
        self.environment = {"CGIBRIDGE_SIMULATION_SEEDS": self.seeds.get(section, "20")}

    def name_of(self, test):
        return ".".join(test)

    def command(self, junit, *more):
        return [str(self.binary), "--gtest_brief=1", f"--gtest_output=xml:{junit}", *more], self.environment

    def command_again(self, test, junit):
        return self.command(junit, f"--gtest_filter={self.name_of(test)}")


class Simulations(GoogleTests):
    """Only the simulations of a room, with many more seeds."""

    minutes_max = 60

    def command(self, junit, *more):
        return super().command(junit, "--gtest_filter=*Simulation*", *more)


class FuzzTarget(Part):
    """Runs every input of a corpus through a fuzz target, and tries new ones for a moment: counts as one
    test."""

    INPUTS, SECONDS = 20_000, 3

    def __init__(self, section, binary, corpus, found):
        super().__init__(section, binary.name.removesuffix("_fuzz"))
        self.binary, self.corpus, self.found = binary, corpus, found

    def command(self, junit):
        grown = self.found / self.name
        grown.mkdir(parents=True, exist_ok=True)
        return [str(self.binary), f"-runs={self.INPUTS}", f"-max_total_time={self.SECONDS}", "-seed=1",
                "-timeout=60", f"-artifact_prefix={self.found}/{self.name}-", str(grown),
                str(self.corpus)], {}

    def command_again(self, test, junit):
        return self.command(junit)

    def outcomes(self, junit, status, said):
        return {("fuzz", self.name): Outcome(FAILED if status else PASSED, said if status else "")}


class GuestTests(Part):
    """Tests in a guest with another kernel; words are pytest's arguments."""

    minutes_max = 120

    def __init__(self, section, name, words, build):
        super().__init__(section, name)
        self.words, self.build = words, build
        self.paths = [pathlib.Path(word) for word in words if word.endswith(".py")]

    def command(self, junit):
        return self._in_guest(junit, self.words)

    def command_again(self, test, junit):
        return self._in_guest(junit, [node_id(self._path_of(test), test)])

    def name_of(self, test):
        return node_id(self._path_of(test), test)

    def _path_of(self, test):
        return next((path for path in self.paths if f"{test[0]}.".startswith(
            str(path.with_suffix("")).replace(os.sep, ".") + ".")), self.paths[0])

    def _in_guest(self, junit, words):
        return ([sys.executable, str(TOP / "tests" / "kernels" / "run.py"), str(junit), *words],
                {"CGIBRIDGE_BUILD": str(TOP / self.build)})

