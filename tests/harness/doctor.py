"""`cgibridge doctor`, and a web server for it to look at."""

import json
import os
import re
import subprocess

from harness import processes
from harness.bridge import BINARY, environment
from harness.webserver import Nginx, require


class WwwNginx(Nginx):
    """As root, its worker is www-data's, as on a real site."""

    name = "nginx"

    def config(self):
        return super().config().replace("user root;", "user www-data;")


def start_nginx(site, bridge, **options):
    require("nginx")
    return site._start_server(WwwNginx(site, bridge, **options))


def look(site, config, *options, expect=None, uid=None, seconds=60):
    """The findings. expect: the exit code; uid: who asks, if it is not who runs the tests."""
    prefix = processes.as_user(uid) if uid else []
    done = subprocess.run([*prefix, str(BINARY), "doctor", "--config", str(config), "--json", *options],
                          capture_output=True, text=True, timeout=seconds * processes.PATIENCE,
                          env=environment())
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["exit_code"] == done.returncode
    own = [one for one in found["findings"] if not is_about_another_test(one)]
    code = done.returncode if own == found["findings"] else int(any(one["mark"] == "wrong" for one in own))
    assert expect is None or code == expect, found
    return own


def is_about_another_test(finding):
    """Whether it names a web server that a test beside this one has started: all of a machine are found."""
    named = re.findall(r"\(pid (\d+), ", finding["what"])
    return bool(named) and not set(map(int, named)) & set(processes.descendants_of(os.getpid()))


def said(findings, area, *marks):
    """The findings of that area with one of these marks, as text."""
    return "\n".join(f"{one['what']} -> {one['to_do']}" for one in findings
                     if one["area"] == area and one["mark"] in (marks or ("ok", "note", "wrong")))


def about(findings, words):
    """The one finding whose sentence has these words."""
    found = [one for one in findings if words in one["what"]]
    assert len(found) == 1, (words, findings)
    return found[0]
