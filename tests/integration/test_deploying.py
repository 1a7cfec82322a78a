"""A new version of a native program whose warm processes wait: the kernel lets nobody write to a file that is
being executed (ETXTBSY), and reports the refusal to nobody else. So the new file must replace the old one."""

import fcntl
import shutil
import signal
import subprocess

import pytest

WARM = 'mode = "persistent"\nworkers = { max = 1, spare = 1 }\n'
SAYS = r"""
    #include <stdio.h>
    int main(void) { printf("Content-Type: text/plain\n\n%s\n", VERSION); return 0; }
    """
# Each gets the new file and the program's path.
WAYS = {
    "written beside and renamed over": 'cp "$1" "$2.new" && mv "$2.new" "$2"',
    "install": 'install -m 755 "$1" "$2"',
    "cp -f": 'cp -f "$1" "$2"',
    "cp --remove-destination": 'cp --remove-destination "$1" "$2"',
}


def versions(site):
    program = site.c("program", SAYS, '-DVERSION="one"')
    new = site.c("other", SAYS, '-DVERSION="two"').rename(site.folder / "new")
    return program, new


def run(way, *words):
    return subprocess.run(["/bin/sh", "-c", way, "sh", *map(str, words)], capture_output=True, text=True)


@pytest.mark.parametrize("way", WAYS)
def test_a_warm_program_is_replaced_and_the_next_request_gets_the_new_one(site, way):
    program, new = versions(site)
    bridge = site.start_bridge(WARM)
    bridge.request(program)
    bridge.wait_warm(program)
    done = run(WAYS[way], new, program)
    assert done.returncode == 0, done.stderr
    assert bridge.request(program).body == b"two\n"
    bridge.wait_warm(program)
    assert bridge.request(program).body == b"two\n"


def test_a_refused_write_changes_nothing_and_nothing_else_is_said(site):
    program, new = versions(site)
    bridge = site.start_bridge(WARM)
    bridge.request(program)
    before = bridge.wait_warm(program)
    done = run('cp "$1" "$2"', new, program)
    if done.returncode == 0:
        pytest.skip("this kernel lets files be written to that are executed")
    assert "Text file busy" in done.stderr
    assert bridge.request(program).body == b"one\n"
    after = bridge.program(program)
    assert (after["generation"], after["zygote_pid"]) == (before["generation"], before["zygote_pid"])
    assert "has changed" not in bridge.log()
    # When none of its processes runs any more, the file can be written to.
    bridge.expect_clean_stop()
    assert run('cp "$1" "$2"', new, program).returncode == 0


def test_a_lease_is_not_broken_by_a_writer_that_is_refused(tmp_path):
    """Shows why idle processes cannot make way for the writer: the kernel checks for ETXTBSY before it breaks
    a lease or asks fanotify, and inotify reports nothing that failed. A kernel that behaves otherwise fails
    this test."""
    program = tmp_path / "program"
    shutil.copy2(shutil.which("sleep"), program)
    told = []
    before = signal.signal(signal.SIGIO, lambda *_: told.append(True))
    running = subprocess.Popen([program, "60"])
    try:
        with open(program, "rb") as file:
            try:
                fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except OSError:
                pytest.skip("no leases on this file system")
            done = run('cp "$1" "$2"', shutil.which("sleep"), program)
            if done.returncode == 0:
                pytest.skip("this kernel lets files be written to that are executed")
            assert "Text file busy" in done.stderr and not told
    finally:
        running.kill()
        running.wait()
        signal.signal(signal.SIGIO, before)
