"""The leak battery for dash, which has no battery program: each script checks for what the request before it
left, then leaves it."""

import pytest

# name: commands that set `found` to what they find, then change it.
SHELL = {
    "variable": 'found=$left; left=1',
    "exported": 'found=$LEFT; export LEFT=1',
    "function": 'found=$(command -v left); left() { :; }',
    "cwd": '[ "$PWD" = / ] && found=$PWD; cd /',
    "umask": '[ "$(umask)" = 0777 ] && found=umask; umask 777',
    "trap": 'found=$(trap); trap : USR1',
    "options": 'case $- in *u*) found=$-;; esac; set -u',
    "limit": '[ "$(ulimit -n)" = 99 ] && found=limit; ulimit -n 99',
    "descriptor": '(exec >&7) 2>/dev/null && found=fd; exec 7>&1',
    "arguments": 'found=$*; set -- left',
    "job": 'found=$(jobs); sleep 0.05 &',
}


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("name", SHELL)
def test_a_kind(site, name, reset):
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\nworkers = {{ max = 2, spare = 1 }}')
    script = site.sh("leak", f"found=\n{SHELL[name]}\n" + """
if [ -n "$found" ]; then found="found $found"; else found=clean; fi
printf 'Content-Type: text/plain\\n\\n%s\\n' "$found"
""")
    bridge.request(script)
    bridge.wait_warm(script)
    for n in range(6):
        response = bridge.request(script)
        assert (response.status, response.body) == (200, b"clean\n"), f"request {n}"
