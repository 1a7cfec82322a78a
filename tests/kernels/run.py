"""run.py RESULTS [all]: runs tests of this project in guests with Debian 12's own kernel (6.1: soft-dirty
bits, no PAGEMAP_SCAN), and leaves a JUnit file for each part in the folder RESULTS. As many guests run
at once as there are processors. What is not said to be `all` is chosen to take a few minutes.

The bridge is that of CGIBRIDGE_BUILD; the kernel is kept in its folder kernels/."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
from xml.sax.saxutils import quoteattr

import guest

TESTS = pathlib.Path(__file__).resolve().parents[1]
TOP = TESTS.parent
BUILD = pathlib.Path(os.environ.get("CGIBRIDGE_BUILD", TOP / "build")).resolve()
KERNEL = BUILD / "kernels"
SECONDS = {"few": 1800, "all": 7200}

# What pytest is told, by part and by extent. Words behind -k are names of tests, or parts of them.
TRACKING, LEAKS = "tests/kernels/inside/test_tracking.py", "tests/kernels/inside/test_leaks_by_soft_dirty.py"
REWIND = "tests/integration/test_rewind.py"
ADAPTERS = [f"tests/adapters/test_rewind{part}.py"
            for part in ("", "_endings", "_memory", "_retirement", "_unique")]
PARTS = {
    "few": {
        "bridge": [TRACKING, REWIND, "-k", "test_tracking or (each_way and not scan) or behind_nginx"],
        "pages": [ADAPTERS[0], ADAPTERS[2], "-k",
                  "(every_way and soft-dirty and not cc) or "
                  "(auto and (gives or anew or protects or moves or everywhere or once))"],
        "leaks": [LEAKS, "-k", "(test_a_kind and (c- or perl-)) and "
                  "(heap or global or mapping or variable or stream or locale or library or thread or "
                  "module or handle or lexical or symbol or tied or descriptor or signal)"],
    },
    "all": {
        "bridge": [TRACKING, REWIND, "-k", "not scan"],
        "pages": [*ADAPTERS, "-k", "not scan"],
        "leaks": [LEAKS],
        "cgroups": ["tests/kernels/inside/test_cgroups_v2.py"],
    },
}


def fetch():
    """What hinders, or None."""
    done = subprocess.run([TESTS / "kernels" / "fetch", KERNEL], capture_output=True, text=True,
                          check=False)
    return None if done.returncode == 0 else done.stderr.strip()


def run(words, seconds):
    """(the JUnit file's content or None, what is to be told, whether all is well)"""
    machine = guest.Guest(KERNEL, shown=[TOP, BUILD])
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8",
                   "PYTHONDONTWRITEBYTECODE": "1", "CGIBRIDGE_BUILD": str(BUILD),
                   "CGIBRIDGE_TESTS_PATIENCE": "6"}
    command = ["/usr/bin/python3", "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider",
               f"--junitxml={guest.EXCHANGE}/results.xml", *words]
    try:
        outcome = machine.run(command, env=environment, cwd=str(TOP), seconds=seconds)
    except guest.GuestFailed as failure:
        return None, str(failure), False
    return outcome.files.get("results.xml"), outcome.output, outcome.code == 0


def failed(part, why):
    return (f'<testsuite><testcase classname="kernels" name={quoteattr(part)}>'
            f"<failure message={quoteattr(why[-1000:])}/></testcase></testsuite>").encode()


def main(results, extent="few"):
    results, well = pathlib.Path(results), True
    hindrance = fetch()
    if hindrance:
        print(hindrance)
        (results / "kernels.xml").write_bytes(failed("the kernel is there", hindrance))
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(run, words, SECONDS[extent]): part
                   for part, words in PARTS[extent].items()}
        for done in concurrent.futures.as_completed(running):
            part = running[done]
            content, text, is_well = done.result()
            (results / f"kernels-{part}.xml").write_bytes(content or failed(part, text))
            print(f"-- {part}, in a guest --\n{text}", flush=True)
            well = well and is_well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
