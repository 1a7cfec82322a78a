"""What a script names may be anything: the bridge waits for none of it, and goes on answering others."""

import os
import socket

import pytest

from harness import programs

NAMED_BY = {"its first line": "#!{}\n", "its first line, by env": "#!/usr/bin/env {}\n",
            "what it executes": "#!/bin/sh\nexec {}\n",
            "a script that it executes": "#!/bin/sh\nexec {}.sh\n"}


def make(kind, path):
    if kind == "a fifo":
        os.mkfifo(path, 0o755)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a device":
        os.symlink("/dev/zero", path)
    elif kind == "a terminal":
        os.symlink("/dev/tty", path)
    elif kind == "a circle":
        os.symlink(path, path)
    elif kind == "a sparse file":
        with open(path, "wb") as file:
            file.truncate(1 << 40)
        path.chmod(0o755)


@pytest.mark.parametrize("mode", ["classic", "persistent"])
@pytest.mark.parametrize("named_by", NAMED_BY)
@pytest.mark.parametrize("kind", ["a fifo", "a socket", "a folder", "a device", "a terminal", "a circle",
                                  "a sparse file"])
def test_no_file_that_a_script_names_is_waited_for(site, kind, named_by, mode):
    named, hello = site.folder / "named", programs.hello(site)
    make(kind, named)
    (site.folder / "named.sh").write_text(f"#!{named}\n")
    (site.folder / "named.sh").chmod(0o755)
    script = site.script("x", NAMED_BY[named_by].format(named))
    # A shell reads a file of zeros for as long as it may.
    bridge = site.start_bridge(f'mode = "{mode}"\ntimeouts = {{ request = "2s" }}')
    bridge.allow_log("x|50[024]")
    for _ in range(2):
        assert bridge.request(script).status in (500, 502, *([504] if kind == "a sparse file" else []))
        assert bridge.request(hello).body == b"hello\n"
    for path in (named, site.folder / "named.sh"):
        if not path.is_dir():
            path.unlink()
