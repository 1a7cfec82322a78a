"""The profile of config/apparmor in force: programs are answered as without it, and kept from what it
refuses. The guest's programs run as root, so that only the profile is in the way."""

import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
KERNEL = pathlib.Path("/sys/kernel/security")
UNDER = ["aa-exec", "-p", "cgibridge", "--"]
# Each does one thing that the profile refuses, and one that it allows.
DEEDS = r"""
use strict; use Fcntl; use Socket;
print "Content-Type: text/plain\n\n";
sub told { my ($what, $done) = @_; print "$what: ", ($done ? "done" : $!), "\n" }
system("cp /bin/true $ENV{PLACE}/copied") == 0 or die;
told("read a secret", open my $secret, "<", "/etc/shadow");
told("read another file", open my $other, "<", "/etc/passwd");
told("execute a file of visitors", system("$ENV{PLACE}/copied") == 0);
told("execute what is installed", system("/bin/true") == 0);
told("change the kernel's settings", sysopen my $setting, "/proc/sys/kernel/hostname", O_WRONLY);
told("write to its folder", open my $own, ">", "$ENV{PLACE}/written");
told("signal a stranger", kill "CONT", 1);
told("signal itself", kill "CONT", $$);
told("see packets", socket my $packets, AF_INET, SOCK_RAW, 1);
told("connect", socket my $stream, AF_INET, SOCK_STREAM, 0);
told("trace a stranger", open my $memory, "<", "/proc/1/mem");
"""
REFUSED = {"read a secret", "execute a file of visitors", "change the kernel's settings", "see packets",
           "signal a stranger", "trace a stranger"}


@pytest.fixture(scope="module", autouse=True)
def in_force(tmp_path_factory):
    """The profile, with rules for the build and the site's programs, as an operator adds some."""
    if not (KERNEL / "apparmor").exists():
        subprocess.run(["mount", "-t", "securityfs", "none", str(KERNEL)], check=True)
    text = (TOP / "config" / "apparmor" / "cgibridge").read_text()
    added = "include if exists <local/cgibridge>"
    assert added in text
    profile = tmp_path_factory.mktemp("profile") / "cgibridge"
    rules = [f"{TOP}/** mrix,", "/tmp/**/cgi-bin/* mrix,", "/tmp/cgibridge-tests-build-*/** mrix,"]
    profile.write_text(text.replace(added, "\n".join(rules)))
    subprocess.run(["apparmor_parser", "--add", "--skip-cache", str(profile)], check=True)
    yield
    subprocess.run(["apparmor_parser", "--remove", str(profile)], check=True)


def confinement(pid):
    return pathlib.Path(f"/proc/{pid}/attr/current").read_text().strip()


def refusals():
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return [line for line in log.splitlines() if 'apparmor="DENIED"' in line]


def deeds(bridge, script):
    lines = bridge.request(script, PLACE=str(script.parent.parent)).body.decode().splitlines()
    return dict(line.split(": ") for line in lines)


def test_programs_run_warm_and_are_put_back_under_the_profile(site):
    scripts = {"perl": site.perl("x", 'print "Content-Type: text/plain\\n\\n", ++$main::calls, "\\n";')}
    scripts["static"] = site.c("y", r"""
        #include <stdio.h>
        static int calls;
        int main(void) { printf("Content-Type: text/plain\n\n%d\n", ++calls); }
        """, "-static")
    before = len(refusals())
    bridge = site.prepare_bridge('reset = "rewind"\nworkers = { min = 1, max = 1, spare = 1 }')
    bridge.start(command_prefix=UNDER)
    for script in scripts.values():
        bridge.request(script)
        bridge.wait_warm(script)
        assert [bridge.request(script).body for _ in range(4)] == [b"1\n"] * 4
        assert bridge.program(script)["rewind"]["rewinds"] >= 2
        workers = bridge.program(script)["worker_pids"]
        assert {confinement(pid) for pid in (bridge.pid, *workers)} == {"cgibridge (enforce)"}
    bridge.expect_clean_stop()
    assert refusals()[before:] == []


def test_programs_are_kept_from_what_the_profile_refuses(site):
    script = site.perl("x", DEEDS)
    free = site.start_bridge('mode = "classic"')
    told = deeds(free, script)
    assert REFUSED < set(told) and set(told.values()) == {"done"}
    free.expect_clean_stop()
    bridge = site.prepare_bridge('mode = "classic"')
    bridge.start(command_prefix=UNDER)
    told = deeds(bridge, script)
    assert {what for what, how in told.items() if how != "done"} == REFUSED
