"""Compiles the C and C++ programs of tests. Many tests compile the same text, so what a compiler made is kept
in the build folder and copied from there."""

import hashlib
import os
import pathlib
import shutil
import subprocess

from harness.bridge import BUILD

KEPT = BUILD / "test-programs"


def compile_program(compiler, source, program, flags):
    """Makes `program` from the file `source`, as `compiler -o program source flags` would. It is a new file,
    even if it is a copy."""
    def compile_to(path):
        subprocess.run([compiler, "-o", path, source, *flags], check=True)

    text = pathlib.Path(source).read_bytes()
    # With a file of the test's own, the same words may mean something else the next time. In a guest
    # (tests/kernels) the build folder is read-only.
    if b'#include "' in text or any("/" in str(flag) for flag in flags) or not os.access(BUILD, os.W_OK):
        compile_to(program)
        return
    found = os.stat(shutil.which(compiler))
    key = repr((compiler, flags, found.st_size, found.st_mtime_ns)).encode() + text
    kept = KEPT / hashlib.sha256(key).hexdigest()
    if not kept.exists():
        KEPT.mkdir(exist_ok=True)
        fresh = f"{kept}.{os.getpid()}"
        compile_to(fresh)
        os.rename(fresh, kept)
    # By another process: what a child of this one holds open to write cannot be executed.
    subprocess.run(["cp", "--remove-destination", kept, program], check=True)
