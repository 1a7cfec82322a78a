"""A build that other users may execute, wherever the checkout is."""

import atexit
import os
import pathlib
import shutil
import tempfile

# The folder with the copies that the processes of a whole run share.
SHARED = "CGIBRIDGE_TESTS_REACHABLE"


def reachable(build):
    """The build folder itself, unless tests run as root (and so have other users) and the folder is where
    those users may not go, for example in a home of mode 0700. Then it is a copy of what the tests run of it:
    the one that share() made, or one that is removed when this process ends."""
    if not is_hidden(build):
        return build
    if SHARED in os.environ and (shared := pathlib.Path(os.environ[SHARED]) / build.name).is_dir():
        return shared
    return copied(build, temporary_folder())


def share(builds):
    """Makes the copies of these builds now, for all processes that this one starts."""
    hidden = [build for build in builds if is_hidden(build)]
    if hidden:
        folder = temporary_folder()
        for build in hidden:
            copied(build, folder / build.name)
        os.environ[SHARED] = str(folder)


def is_hidden(build):
    return os.getuid() == 0 and build.is_dir() and not all(
        folder.stat().st_mode & 0o001 for folder in [build, *build.resolve().parents])


def temporary_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cgibridge-tests-build-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return folder


def copied(build, copy):
    (copy / "bridge").mkdir(parents=True)
    for path in (build / "bridge").iterdir():
        if path.is_file() and os.access(path, os.X_OK):
            shutil.copy2(path, copy / "bridge")
    # No hard links: adding or removing one changes a file as the bridge sees it.
    shutil.copytree(build / "adapters", copy / "adapters", ignore=shutil.ignore_patterns("CMakeFiles"))
    return copy
