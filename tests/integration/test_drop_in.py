"""Programs with their packages' own example for nginx or Apache, as it is: the bridge answers as fcgiwrap, or
as mod_cgid, when it takes its place. tests/drop_in/run asks many more, in a Debian root."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from harness.bridge import BINARY, environment
from harness.processes import PATIENCE
from harness.sameness import Expected
from harness.sandboxes import needs_namespaces

TESTS = pathlib.Path(__file__).resolve().parents[1]
FCGIWRAP = "/usr/share/doc/fcgiwrap/examples/nginx.conf"
PAGE = "/usr/share/man/man1/git-clone.1.gz"
SITES = {
    "gitweb-nginx": {
        "front": "nginx", "examples": [FCGIWRAP], "program": "/usr/lib/cgi-bin/gitweb.cgi",
        "requests": {"GET /cgi-bin/gitweb.cgi": 200, "GET /cgi-bin/gitweb.cgi?p=demo.git;a=summary": 200,
                     "GET /cgi-bin/gitweb.cgi?p=none.git": 404}},
    "awstats-nginx": {
        "front": "nginx", "examples": [FCGIWRAP], "program": "/usr/lib/cgi-bin/awstats.pl",
        "requests": {"GET /cgi-bin/awstats.pl?config=demo&month=03&year=2024": 200,
                     "POST /cgi-bin/awstats.pl config=demo": 200}},
    "man2html-nginx": {
        "front": "nginx", "examples": [FCGIWRAP], "program": "/usr/lib/cgi-bin/man/man2html",
        "requests": {f"GET /cgi-bin/man/man2html?{PAGE}": 200}},
    "gitweb-apache": {
        "front": "apache", "examples": ["/etc/apache2/conf-available/gitweb.conf"],
        "program": "/usr/share/gitweb/gitweb.cgi",
        "section": ['<Directory "/usr/share/gitweb">', r'<FilesMatch "\.cgi$">'],
        "requests": {"GET /gitweb/gitweb.cgi?p=demo.git;a=summary": 200,
                     "GET /gitweb/static/gitweb.css": 200}},
    "cgit-apache": {
        "front": "apache", "examples": ["/etc/apache2/conf-available/cgit.conf"],
        "program": "/usr/lib/cgit/cgit.cgi",
        "requests": {"GET /cgit/": 200, "GET /cgit/demo.git/tree/": 200, "GET /cgit": 302,
                     "GET /cgit/none/": 404}},
    "awstats-apache": {
        "front": "apache", "examples": ["/usr/share/doc/awstats/examples/apache.conf"],
        "program": "/usr/lib/cgi-bin/awstats.pl",
        "requests": {"GET /cgi-bin/awstats.pl?config=demo&month=03&year=2024": 200,
                     "GET /cgi-bin/awstats.pl?config=none": 200}},
    "man2html-apache": {
        "front": "apache", "examples": ["/etc/apache2/conf-available/man2html.conf"],
        "program": "/usr/lib/cgi-bin/man/man2html",
        "requests": {f"GET /cgi-bin/man/man2html?{PAGE}": 200}},
}


def repositories(site):
    """A folder with one repository, from 2001, whose owner is the programs' user; a file of settings for
    gitweb and one for cgit."""
    work, folder = site.folder / "work", site.folder / "repositories"
    own = environment(HOME=str(site.folder), GIT_CONFIG_NOSYSTEM="1",
                      GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@b",
                      GIT_COMMITTER_NAME="A", GIT_COMMITTER_EMAIL="a@b",
                      GIT_AUTHOR_DATE="2001-02-03T04:05:06Z", GIT_COMMITTER_DATE="2001-02-03T04:05:06Z")
    work.mkdir()
    (work / "file.txt").write_text("hello\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"],
                  ["clone", "-q", "--bare", ".", folder / "demo.git"]):
        subprocess.run(["git", *words], cwd=work, env=own, check=True)
    for path in [folder, *folder.rglob("*")]:
        shutil.chown(path, "www-data", "www-data")
    (site.folder / "gitweb.conf").write_text(
        f'$projectroot = "{folder}";\n$feature{{"timed"}}{{"default"}} = [0];\n1;\n')
    (site.folder / "cgitrc").write_text(f"cache-size=0\nvirtual-root=/cgit/\nscan-path={folder}\n")
    return {"/etc/gitweb.conf": "gitweb.conf", "/etc/cgitrc": "cgitrc"}


def statistics(site):
    """/etc/awstats, and what awstats has made of a log."""
    folder = site.folder / "awstats"
    folder.mkdir()
    (site.folder / "access.log").write_text("".join(
        f'10.0.0.{n % 7} - - [{n // 20 + 1:02}/Mar/2024:{n % 20:02}:00:00 +0000] '
        f'"GET /{n % 5}.html HTTP/1.1" 200 {1000 + n} "-" "Mozilla/5.0 (X11; Linux)"\n' for n in range(100)))
    (folder / "awstats.demo.conf").write_text(
        f'LogFile="{site.folder}/access.log"\nLogFormat=1\nSiteDomain="demo"\nHostAliases="localhost"\n'
        f'DirData="{folder}"\nDNSLookup=0\nLang="en"\nDirLang="/usr/share/awstats/lang"\n')
    subprocess.run(["/usr/lib/cgi-bin/awstats.pl", "-config=demo", f"-configdir={folder}", "-update"],
                   check=True, capture_output=True, env=environment(AWSTATS_ENABLE_CONFIG_DIR="1"))
    return {"/etc/awstats": "awstats"}


def ask(site, name, binds):
    """What harness.drop_in found."""
    asked = {**SITES[name], "name": name, "rounds": 1, "times": 3, "settled": 0, "keep": str(site.folder),
             "requests": list(SITES[name]["requests"]),
             "binds": {path: str(site.folder / own) for path, own in binds.items()}}
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc",
         sys.executable, "-B", "-m", "harness.drop_in"],
        input=json.dumps(asked), capture_output=True, text=True, cwd=TESTS,
        env=environment(CGIBRIDGE_BUILD=str(BINARY.parents[1])), timeout=300 * PATIENCE)
    print(done.stderr)
    return json.loads(done.stdout)


@pytest.mark.root
@pytest.mark.parametrize("name", SITES)
def test_the_bridge_in_its_place_answers_as_it_does(site, name):
    needs_namespaces()
    expected = SITES[name]["requests"]
    for path in (SITES[name]["program"], *SITES[name]["examples"]):
        if not os.path.exists(path):
            pytest.skip(f"this release's packages have no {path}")
    found = ask(site, name, {**repositories(site), **statistics(site)})
    assert "problem" not in found, found
    print(found["log"])
    for one in found["requests"]:
        request = one["request"]
        assert one["compared"] >= 3 and one["bytes"] > 0
        assert one["varying_lines"] is not None, request  # otherwise nothing was compared
        assert not one["differences"], request
        assert one["status"] == expected[request], request
    assert found["program"]["arm"] == "persistent/rewind", found["program"]


class TestSameness:
    """What counts as the same answer."""

    def test_what_the_peer_always_answers_must_be_answered(self):
        expected = Expected([b"a\nb\n", b"a\nb\n"])
        assert not expected.difference(b"a\nb\n")
        assert "line 2 is b'c'" in expected.difference(b"a\nc\n")
        assert expected.difference(b"a\nb\nc\n") and expected.difference(b"a\n") and expected.difference(b"")

    def test_only_the_words_that_the_peer_changes_may_be_others(self):
        expected = Expected([b"<p>at 12:01:05 on Monday</p>", b"<p>at 12:01:07 on Monday</p>"])
        assert not expected.difference(b"<p>at 12:01:09 on Monday</p>")
        for other in (b"<p>at 12:02:05 on Monday</p>", b"<p>at 12:01:05 on Sunday</p>",
                      b"<p>at 12:01:: on Monday</p>", b"<p>at 12:01:05 on Monday</p><p></p>"):
            assert expected.difference(other), other
        assert expected.varying == 1

    def test_a_number_with_a_fraction_is_one_word(self):
        expected = Expected([b"X-Duration: 0.12 s", b"X-Duration: 0.34 s"])
        assert not expected.difference(b"X-Duration: 1.5 s") and expected.difference(b"X-Duration: - s")

    def test_words_in_another_order_each_time(self):
        expected = Expected([b"a=1 b=2 c=3", b"c=3 a=1 b=2"])
        assert not expected.difference(b"b=2 c=3 a=1")
        assert expected.difference(b"b=2 c=3 a=2")

    def test_a_line_with_another_number_of_words_each_time_keeps_its_ends(self):
        expected = Expected([b"<p>one two</p>", b"<p>one</p>"])
        assert not expected.difference(b"<p>one three four</p>")
        assert expected.difference(b"<b>one two</p>")

    def test_what_has_another_number_of_lines_each_time_cannot_be_compared(self):
        assert Expected([b"a\n", b"a\nb\n"]).varying is None
