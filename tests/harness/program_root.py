"""A Debian root with the CGI programs of Debian's packages that tests/programs.toml lists. Needs root."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

from harness import debian_root
from harness.debian_root import inside

SUITE = "bookworm"
LIST = pathlib.Path(__file__).resolve().parents[1] / "programs.toml"


def all_programs():
    with open(LIST, "rb") as file:
        programs = tomllib.load(file)["program"]
    for program in programs:
        path = pathlib.PurePath(program["path"])
        program.setdefault("name", f"{program['packages'][0]}/{path.name}")
    return programs


def make_root(root):
    debian_root.make(root, SUITE)
    # Keeps installed packages from starting services.
    refuse = root / "usr/sbin/policy-rc.d"
    refuse.write_text("#!/bin/sh\nexit 101\n")
    refuse.chmod(0o755)


def installed(root):
    query = "dpkg-query -W -f '${db:Status-Status} ${Package}\\n'"
    shown = inside(root, query, stdout=subprocess.PIPE).stdout
    return {line.split()[1] for line in shown.splitlines() if line.startswith("installed ")}


def install(root, wanted, log):
    """Installs all at once; if that fails, one after another."""
    missing = sorted(set(wanted) - installed(root))
    if not missing:
        return
    get = "apt-get -qq -y --no-install-recommends -o Dpkg::Options::=--force-confold install "
    print(f"installing {len(missing)} packages", file=sys.stderr)
    inside(root, "apt-get -qq update", stdout=log, stderr=log)
    if inside(root, get + " ".join(missing), stdout=log, stderr=log).returncode != 0:
        for package in missing:
            inside(root, get + package, stdout=log, stderr=log)


def libraries(builds):
    """The packages of the libraries that the builds need."""
    binaries = [str(build / "bridge/cgibridge") for build in builds]
    shown = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=True).stdout
    # Only by its name, because dpkg knows a file by /lib or by /usr/lib.
    names = {f"*/{os.path.basename(word)}" for word in shown.split() if word[0] == "/" and ".so" in word}
    owners = subprocess.run(["dpkg", "-S", *sorted(names)], capture_output=True, text=True).stdout
    return {line.split(":")[0] for line in owners.splitlines()}


def copy_bridge(root, name, build):
    place = root / "opt/cgibridge" / name
    shutil.rmtree(place, ignore_errors=True)
    (place / "bridge").mkdir(parents=True)
    shutil.copy(build / "bridge/cgibridge", place / "bridge")
    shutil.copytree(build / "adapters", place / "adapters", symlinks=False,
                    ignore=shutil.ignore_patterns("CMakeFiles", "*.cmake", "__pycache__"))


def set_up(root, program, log, network=True):
    """Runs a program's setup, once; returns why it cannot be checked, or None."""
    setup = program.get("setup", "")
    mark = root / "var/lib/cgibridge-programs" / hashlib.sha256(setup.encode()).hexdigest()
    if setup and not mark.exists():
        print(f"--- {program['name']}", file=log, flush=True)
        if inside(root, "set -e\n" + setup, network, stdout=log, stderr=log).returncode != 0:
            return "its setup failed"
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return None if os.path.lexists(root / program["path"].lstrip("/")) else "it is not installed"
