"""WebAssembly programs on their runner, plain and warm."""

import driver
from harness.modules import RUNNER


class Programs:
    """Those of tests/adapters/wasm_programs, made by harness.modules.module() or
    harness.components.component(), with a folder and a cache of the test."""

    def __init__(self, folder, make):
        self.folder, self.data, self.make = folder, folder / "data", make
        self.data.mkdir()
        self.switches = [f"--dir=/data={self.data}", f"--cache={folder}/cache", "--memory=67108864"]

    def made(self, name):
        """The program's file."""
        return self.make(name, self.folder)

    def argv(self, name, *switches):
        return [str(RUNNER), *self.switches, *switches, str(self.made(name))]

    def warm(self, name, reset, *switches):
        return driver.Warm(self.argv(name, *switches), reset=reset, level="compiled")

    def entries(self):
        """Of the cache."""
        return sorted((self.folder / "cache").glob("*.cwasm"))


def env_of(query, **more):
    return {**driver.REQUEST_ENV, "QUERY_STRING": query, **more}


def without_places(answer):
    """Where a stack ends differs between baseline and optimized code, and so the frames that are told do."""
    return answer.stdout, answer.stderr.splitlines()[-1:], answer.code
