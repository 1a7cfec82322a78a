"""ikiwiki.cgi, as its package makes it: a wrapper in C that takes a lock, clears its environment and executes
ikiwiki, a script for Perl, with the lock's descriptor."""

import re
import shutil
import subprocess

import pytest

from harness.processes import wait_until

SETUP = """# IkiWiki::Setup::Yaml - YAML formatted setup file
wikiname: test
srcdir: {folder}/source
destdir: {folder}/pages
url: http://localhost/
cgiurl: http://localhost/ikiwiki.cgi
cgi_wrapper: {cgi}
cgi_wrappermode: '0755'
add_plugins: [goodstuff]
rcs: ''
"""
# What is drawn or counted anew in each request.
ANEW = re.compile(rb"[0-9a-f]{32}|Date: .*|expires=[^;]*|(?<=name=\"_time\" )\S+|\d{10}")
REQUESTS = [{"query": "do=prefs"}, {"query": "do=goto&page=index"}, {"query": "do=goto&page=none"},
            {"query": "do=edit&page=index"}, {"query": "do=create&page=new"}, {"query": "do=nothing"}, {},
            {"method": "POST", "body": b"do=signin&name=a&password=b",
             "CONTENT_TYPE": "application/x-www-form-urlencoded"}]


@pytest.fixture
def wiki(site):
    if shutil.which("ikiwiki") is None:
        pytest.skip("no ikiwiki")
    folder = site.folder / "wiki"
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "index.mdwn").write_text("hello [[other]]\n")
    cgi = site.cgi_bin / "ikiwiki.cgi"
    (folder / "setup").write_text(SETUP.format(folder=folder, cgi=cgi))
    subprocess.run(["ikiwiki", "--setup", folder / "setup"], check=True, capture_output=True,
                   env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})
    return cgi


def test_answers_are_the_same(site, wiki):
    bridge = site.start_bridge('mode = "persistent"\nrewind = { verify = 1 }',
                               programs='[[program]]\nname = "x"\nmatch = "*"\n')

    def answer(request):
        response = bridge.request(wiki, **request)
        return ANEW.sub(b"", response.stdout), response.stderr, response.app_status
    site.cgibridge("mode", "x", "classic", "--config", bridge.config)
    classic = [answer(request) for request in REQUESTS]
    site.cgibridge("mode", "x", "persistent", "--config", bridge.config)

    def others():
        return [row for row in bridge.status()["programs"] if " > " in row["path"]]

    def is_learned():
        for request in REQUESTS:
            answer(request)
        return others() and others()[0]["generation"] > 1 and others()[0]["requests"] > 2 * len(REQUESTS)
    wait_until(is_learned, "no worker with ikiwiki's modules", 30)
    before = others()[0]["requests"]
    for _ in range(3):
        for request, expected in zip(REQUESTS, classic):
            assert answer(request) == expected, request
    assert others()[0]["requests"] == before + 3 * len(REQUESTS)
