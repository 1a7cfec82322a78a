"""What this machine supports for sandboxes."""

import ctypes
import shutil
import subprocess

import pytest

from harness.bridge import BUILD


def why_no_namespaces(*prefix):
    done = subprocess.run([*prefix, "unshare", "--propagation", "unchanged",
                           *(["-U"] if prefix else []), "-mn", "true"],
                          capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else None


def needs_namespaces(*prefix):
    if why := why_no_namespaces(*prefix):
        pytest.skip(f"namespaces are not available here: {why}")


def landlock_version():
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


def copy_adapters(site):
    """A copy where other users can read them."""
    return shutil.copytree(BUILD / "adapters", site.folder / "adapters")
