"""Each request has its own standard input, output and error: flags, owners and locks that one program sets on
them affect no other request, also not of the same program or while it still runs."""

import os

import pytest

from harness.processes import wait_until

# ?mark sets everything that an open file description can keep, and goes on running; ?look prints what is set.
MARKS_PL = r"""
    use strict; use warnings; use Fcntl qw(:DEFAULT :flock);
    my ($get_owner, $set_owner, $async) = (9, 8, 020000);
    my $mark = $ENV{QUERY_STRING} eq "mark";
    my @found;
    $SIG{IO} = "IGNORE";
    for my $fd (0, 1, 2) {
      open(my $stream, ($fd ? ">" : "<") . "&=", $fd) or die;
      my $flags = fcntl($stream, F_GETFL, 0);
      if ($mark) {
        fcntl($stream, F_SETFL, $flags | O_NONBLOCK | O_APPEND | ($fd ? 0 : $async)) or die "flags: $!";
        fcntl($stream, $set_owner, $$ + 0) or die "owner: $!";
        flock($stream, LOCK_EX | LOCK_NB) or die "lock: $!";
        next;
      }
      push @found, "$fd nonblocking" if $flags & O_NONBLOCK;
      push @found, "$fd async" if $flags & $async;
      push @found, "$fd append" if $flags & O_APPEND;
      push @found, "$fd owned" if fcntl($stream, $get_owner, 0) != 0;
      push @found, "$fd locked" unless flock($stream, LOCK_EX | LOCK_NB);
      push @found, "$fd has bytes" if !$fd && sysread(STDIN, my $byte, 1);
    }
    if ($mark) {
      open(my $note, ">", "MARKED"); close $note;
      select(undef, undef, undef, 0.01) until -e "GO_ON";
    }
    print "Content-Type: text/plain\n\n@found\n";
    """

ARMS = {"classic": 'mode = "classic"', "fork": 'reset = "fork"', "rewind": 'reset = "rewind"',
        "none": 'reset = "none"'}


def marking_program(site, name):
    text = MARKS_PL.replace("MARKED", str(site.folder / "marked"))
    return site.perl(name, text.replace("GO_ON", str(site.folder / "go-on")))


# Made at the checkpoint, where possible; what a request makes is not frozen.
STREAMS_PY = """
import gc, sys
young = list(map(id, gc.get_objects()))
print("Content-Type: text/plain\\n")
print([id(stream.buffer.raw) in young for stream in (sys.stdin, sys.stdout, sys.stderr)], sys.stdin.read())
"""


def test_python_s_streams_are_made_at_the_checkpoint(site):
    script = site.script("streams.py", "#!/usr/bin/python3" + STREAMS_PY)
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    bridge.wait_warm(script)
    assert bridge.request(script).body == b"[False, False, False] \n"
    assert bridge.request(script, body=b"text").body == b"[False, False, False] text\n"


@pytest.mark.parametrize("arm", ARMS)
def test_nothing_that_a_program_sets_on_its_streams_reaches_another(site, arm):
    one, other = (marking_program(site, name) for name in ("one.pl", "other.pl"))
    bridge = site.start_bridge(ARMS[arm] + "\nworkers = { max = 4, spare = 2 }\n")
    for script in (one, other):
        bridge.request(script)
        if arm != "classic":
            bridge.wait_warm(script)
    with bridge.connect() as peer:
        peer.start(one, query="mark")
        wait_until((site.folder / "marked").exists, "its streams are marked")
        for script in (one, other, one):
            assert bridge.request(script, query="look").body == b"\n"
        (site.folder / "go-on").touch()
        assert peer.response().status == 200
    for script in (one, other, one, other):
        assert bridge.request(script, query="look").body == b"\n"


def test_a_run_beside_the_clients_has_its_own_as_well(site):
    script = marking_program(site, "one.pl")
    (site.folder / "go-on").touch()
    bridge = site.start_bridge('mode = "shadow"\nworkers = { max = 2, spare = 1 }\n')
    bridge.request(script, query="look")
    bridge.wait_warm(script)
    for _ in range(6):
        bridge.request(script, query="mark")
        assert bridge.request(script, query="look").body == b"\n"

    def compared():
        return bridge.program(script)["shadow"]["compared"] >= 6
    wait_until(compared, "both sides' answers were compared")
    assert bridge.program(script)["shadow"]["different"] == 0


def test_a_request_without_a_body_can_open_its_standard_input_by_name(site, mode):
    script = site.sh("again", """
        printf 'Content-Type: text/plain\\n\\n'
        cat < /dev/stdin
        cat /dev/stdin
        echo end
        """)
    bridge = site.start_bridge(f'mode = "{mode}"\n')
    bridge.request(script)
    if mode == "persistent":
        bridge.wait_warm(script)
    for _ in range(3):
        assert bridge.request(script).body == b"end\n"


NONE = {"perl": "#!/usr/bin/perl\nprint qq(Content-Type: text/plain\\n\\n$$\\n);\n",
        "python": "#!/usr/bin/python3\nimport os\nprint('Content-Type: text/plain\\n')\nprint(os.getpid())\n",
        "ruby": "#!/usr/bin/ruby\nprint \"Content-Type: text/plain\\n\\n#{$$}\\n\"\n",
        "tcl": "#!/usr/bin/tclsh\nputs \"Content-Type: text/plain\\n\"\nputs [pid]\n"}


@pytest.mark.parametrize("language", NONE)
def test_a_worker_that_keeps_its_state_does_not_keep_the_pipes_of_an_answer(site, language):
    """Otherwise each answer would wait for what might still be written to them."""
    script = site.script("x", NONE[language])
    bridge = site.start_bridge('mode = "persistent"\nreset = "none"\nworkers = { max = 1 }')
    bridge.request(script)
    bridge.wait_warm(script)
    for _ in range(3):
        worker = int(bridge.request(script).body)
        assert worker in bridge.program(script)["worker_pids"]
        assert [os.readlink(f"/proc/{worker}/fd/{fd}") for fd in (0, 1, 2)] == ["/dev/null"] * 3
