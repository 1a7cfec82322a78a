#!/usr/bin/python3
"""Runs broken WebAssembly files: each must end in a way that the runner's README states, whatever is in it.

    tests/adapters/wasm_fuzz.py [--seed N] [--count N]

Without a seed, the time gives one, which is printed. A file that did not end well is kept, and named."""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import driver  # noqa: E402
from harness.components import broken, component  # noqa: E402
from harness.modules import RUNNER, module  # noqa: E402

LIMITS = ["--memory=16777216", "--stack=262144", "--compile-time=10", "--compile-memory=1073741824"]
# A file may loop for ever by itself, but its compilation may not.
PATIENCE = 10
# Every so many files are compiled by the other compiler too, and run from the cache.
COMPILED = 8


class Finding(Exception):
    """A file, and how it ended otherwise than it may."""


def run(words, file):
    """The exit code, or None: it was still running after PATIENCE."""
    try:
        ended = subprocess.run([str(RUNNER), *words, str(file)], env=driver.REQUEST_ENV, timeout=PATIENCE,
                               stdin=subprocess.DEVNULL, capture_output=True)
    except subprocess.TimeoutExpired:
        return None
    text = ended.stderr.decode(errors="replace")
    # 101 is Rust's for a panic; a signal is a number below 0.
    if not 0 <= ended.returncode <= 255 or ended.returncode == 101 or "panicked" in text:
        raise Finding(f"{file}: {words[:1]}: exit code {ended.returncode}: {text[-500:]}")
    if ended.returncode in (1, 134) and not text:
        raise Finding(f"{file}: {words[:1]}: exit code {ended.returncode}, and no word why")
    return ended.returncode


def try_file(folder, n):
    """How it ended."""
    file, data = folder / f"{n}.wasm", folder / f"data{n % 4}"
    cache = f"--cache={folder}/cache"
    ended = run([*LIMITS, f"--dir=/data={data}"], file)
    if n % COMPILED == 0 or ended is None:
        compiled = run(["--compile", *LIMITS, cache], file)
        if compiled is None:
            raise Finding(f"{file}: its compilation does not end")
        if compiled == 0 and ended is not None:
            run([*LIMITS, cache, f"--dir=/data={data}"], file)
    file.unlink()
    return ended


def originals(folder):
    """What is damaged, besides what is made of nothing."""
    folder.mkdir()
    return [module("request", folder), component("http", folder), component("sockets", folder),
            component("asks_before_start", folder)]


def fuzz(seed, count, folder):
    """Runs so many files of that seed; {exit code: files}."""
    broken(seed, count, folder, *originals(folder / "originals"))
    for n in range(4):
        (folder / f"data{n}").mkdir()
        (folder / f"data{n}" / "file").write_text("content\n")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = collections.Counter(pool.map(lambda n: try_file(folder, n), range(count)))
    if ends[None] > count // 20:
        raise Finding(f"{ends[None]} of {count} files ran for more than {PATIENCE} s")
    return dict(ends)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=20_000)
    words = parser.parse_args()
    print(f"seed {words.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wasm-fuzz-"))
    try:
        print(fuzz(words.seed, words.count, folder))
    except Finding as finding:
        sys.exit(f"{finding}\nkept in {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
