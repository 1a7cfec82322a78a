"""A build that other users may execute, wherever the checkout lies."""

import atexit
import os
import pathlib
import shutil
import tempfile


def reachable(build):
    """The build folder itself, unless tests have other users (as root) and it lies where they may not go,
    as in a home of mode 0700: then a folder of this process with what runs of it, removed at its end."""
    if os.getuid() != 0 or not build.is_dir() or all(
            folder.stat().st_mode & 0o001 for folder in [build, *build.resolve().parents]):
        return build
    copy = pathlib.Path(tempfile.mkdtemp(prefix="cgibridge-tests-build-", dir="/tmp"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    (copy / "bridge").mkdir()
    for path in (build / "bridge").iterdir():
        if path.is_file() and os.access(path, os.X_OK):
            shutil.copy2(path, copy / "bridge")
    # No links: one more, or one less, changes a file as the bridge sees it.
    shutil.copytree(build / "adapters", copy / "adapters", ignore=shutil.ignore_patterns("CMakeFiles"))
    return copy
