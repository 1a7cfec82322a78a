"""A Node program's modules are loaded ahead, and follow their files."""

import shutil

import pytest

from harness.processes import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("/usr/bin/node"), reason="no node")
MAIN = """#!/usr/bin/node
const one = require('./one'), two = require('two');
console.log('Content-Type: text/plain\\n');
console.log(one.value, two.value, process.env.QUERY_STRING);
"""


@pytest.fixture
def script(site):
    modules = site.cgi_bin / "node_modules" / "two"
    modules.mkdir(parents=True)
    (modules / "index.js").write_text("exports.value = require('./more').value;")
    (modules / "more.js").write_text("exports.value = 2;")
    (site.cgi_bin / "one.js").write_text("exports.value = 1;")
    return site.script("main.js", MAIN)


def serve(site, script, settings):
    """A bridge that has the program warm, under these settings."""
    bridge = site.start_bridge(f'mode = "persistent"\n{settings}')
    bridge.request(script)
    bridge.wait_warm(script)
    return bridge


def answers(bridge, script, what, word="q=1"):
    return bridge.request(script, "GET", word).body == f"{what} {word}\n".encode()


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_modules_are_loaded_ahead_and_follow_their_files(site, script, reset):
    bridge = serve(site, script, f'reset = "{reset}"\nworkers = {{ max = 2, spare = 2 }}')
    for number in range(20):
        assert answers(bridge, script, "1 2", f"q={number}")
    entry = bridge.program(script)
    assert (entry["level"], entry["arm"]) == ("compiled", f"persistent/{reset}") and not entry["retired"]

    def becomes(path, text, what, word="q=1"):
        path.write_text(text)
        wait_until(lambda: answers(bridge, script, what, word), f"{path.name} is read again")
        bridge.wait_warm(script)
        assert answers(bridge, script, what, word)
    becomes(site.cgi_bin / "node_modules" / "two" / "more.js", "exports.value = 22;", "1 22")
    becomes(site.cgi_bin / "one", "exports.value = 11;", "11 22")  # is found first from now on
    becomes(site.cgi_bin / "one", "exports.value = process.env.QUERY_STRING;", "q=1 22")
    for number in range(10):
        assert answers(bridge, script, f"q={number} 22", f"q={number}")
    becomes(site.cgi_bin / "one", "exports.value = 3;", "3 22")
    # If a file changed while it was tried, that is done again after a minute.
    wait_until(lambda: answers(bridge, script, "3 22") and bridge.program(script)["level"] == "compiled",
               "it is loaded again", seconds=50)


def test_an_operator_may_have_nothing_loaded(site, script):
    bridge = serve(site, script, 'level = "booted"')
    assert answers(bridge, script, "1 2") and bridge.program(script)["level"] == "booted"


def test_a_variable_that_a_module_read_keeps_its_meaning(site, script):
    (site.cgi_bin / "one.js").write_text("exports.value = process.env.SETTING;")
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script, SETTING="a")
    bridge.wait_warm(script)
    for setting in ("a", "b", "a", "c"):
        assert bridge.request(script, SETTING=setting).body == f"{setting} 2 \n".encode()


def test_check_says_how_far_it_goes(site, script):
    told = " ".join(site.cgibridge("check", script).stdout.split())
    assert "compiled: the modules that it loads before it asks for anything are loaded" in told


AS_MODULE = """#!/usr/bin/node
import one from './one.js';
import two from 'two';
console.log('Content-Type: text/plain\\n');
console.log(one.value, two.value, process.env.QUERY_STRING);
"""


@pytest.mark.parametrize("settings", ["sandbox = { read_only = true, private_tmp = true, network = false }",
                                      'sandbox = { syscalls = ["@cgi"] }', "limits = { processes = 40 }"])
@pytest.mark.parametrize("name", ["main.js", "main.mjs"])
def test_it_is_loaded_ahead_in_a_sandbox_as_well(site, script, settings, name):
    if name == "main.mjs":
        script = site.script(name, AS_MODULE)
    bridge = serve(site, script, settings)
    for number in range(5):
        assert answers(bridge, script, "1 2", f"q={number}")
    entry = bridge.program(script)
    assert (entry["level"], entry["reset"]) == ("compiled", "rewind") and not entry["retired"]
