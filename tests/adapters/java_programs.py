"""Shared by the tests of Java."""

import os
import pathlib
import subprocess

import pytest

from driver import REQUEST_ENV, Warm, adapters_dir, run_plainly

# Another JDK than Debian's is named by CGIBRIDGE_JAVA.
JAVA = os.environ.get("CGIBRIDGE_JAVA", "/usr/bin/java")
JAVAC = f"{JAVA}c"
SOURCES = pathlib.Path(__file__).parent / "java"
WAY_IN = [f"-agentpath:{adapters_dir()}/libcgibridge_java.so",
          "-XX:+PerfDisableSharedMem"]

needs_java = pytest.mark.skipif(not os.path.exists(JAVAC), reason="no javac")


def compile_java(folder, *sources):
    """Compiles files of tests/adapters/java into a folder."""
    subprocess.run([JAVAC, "-nowarn", "-XDignore.symbol.file", "-d", folder,
                    *(SOURCES / source for source in sources)],
                   check=True, capture_output=True)


def zygote_argv(*words, java=JAVA):
    return [java, *WAY_IN, *words]


class WarmJava(Warm):
    """words: those after the interpreter."""

    def __init__(self, *words, java=JAVA, verify=True, **options):
        super().__init__(zygote_argv(*words, java=java), verify=verify, level="booted", **options)
        self.argv = [java, *words]

    def ask_for(self, query, **more):
        return self.ask(env={**REQUEST_ENV, "QUERY_STRING": query}, **more)


def plainly(query, *words, java=JAVA, **more):
    return run_plainly([java, *words], env={**REQUEST_ENV, "QUERY_STRING": query}, **more)
