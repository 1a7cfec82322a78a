"""run.py JUNIT WORD...: runs tests of this project (the words are pytest's arguments) in a guest with Debian
12's own kernel (6.1: soft-dirty bits, no PAGEMAP_SCAN) and brings back the JUnit file. Its exit code is
pytest's.

The bridge comes from CGIBRIDGE_BUILD; the kernel is kept in its folder kernels/."""

import os
import pathlib
import subprocess
import sys

import guest

TESTS = pathlib.Path(__file__).resolve().parents[1]
TOP = TESTS.parent
BUILD = pathlib.Path(os.environ.get("CGIBRIDGE_BUILD", TOP / "build")).resolve()
KERNEL = BUILD / "kernels"
SECONDS = 7200


def fetch():
    """The reason why it failed, or None."""
    done = subprocess.run([TESTS / "kernels" / "fetch", KERNEL], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()


def run(junit, words):
    """Runs pytest in the guest; returns its exit code."""
    machine = guest.Guest(KERNEL, shown=[TOP, BUILD])
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8",
                   "PYTHONDONTWRITEBYTECODE": "1", "CGIBRIDGE_BUILD": str(BUILD),
                   "CGIBRIDGE_TESTS_PATIENCE": "6"}
    command = ["/usr/bin/python3", "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider",
               f"--junitxml={guest.EXCHANGE}/results.xml", *words]
    outcome = machine.run(command, env=environment, cwd=str(TOP), seconds=SECONDS)
    print(outcome.output)
    if "results.xml" in outcome.files:
        pathlib.Path(junit).write_bytes(outcome.files["results.xml"])
    return outcome.code


def is_debian_12():
    """Only its archive has that kernel, and the guest runs this machine's own programs."""
    release = pathlib.Path("/etc/os-release")
    return not release.exists() or 'VERSION_ID="12"' in release.read_text()


def skip(junit):
    why = "guests have the kernel of Debian 12, which the archive of another release does not have"
    pathlib.Path(junit).write_text('<testsuites><testsuite><testcase classname="kernels" name="guests">'
                                   f'<skipped message="{why}"/></testcase></testsuite></testsuites>\n')
    return 0


def main(junit, *words):
    if not is_debian_12():
        return skip(junit)
    hindrance = fetch()
    if hindrance:
        print(hindrance)
        return 1
    try:
        return run(junit, words)
    except guest.GuestFailed as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
