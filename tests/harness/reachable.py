"""A build that other users may execute, wherever the checkout is."""

import atexit
import os
import pathlib
import shutil
import tempfile


def reachable(build):
    """The build folder itself, unless tests run as root (and so have other users) and the folder is where
    those users may not go, for example in a home of mode 0700. Then it is a copy of what the tests run of it,
    which is removed when this process ends."""
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
    # No hard links: adding or removing one changes a file as the bridge sees it.
    shutil.copytree(build / "adapters", copy / "adapters", ignore=shutil.ignore_patterns("CMakeFiles"))
    return copy
