"""Third-party programs from Debian's packages, unmodified, through nginx: the same bytes from classic, from
persistent with each reset, and from a run by hand with the same environment. Every rewind is compared with
its zygote, and no worker may be replaced without a reason that lies in the program."""

import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

from harness.bridge import environment
from harness.processes import wait_until

WAYS = ["classic", "fork", "rewind"]
ROOTS = ["/usr/lib/cgi-bin", "/usr/share/gitweb", "/usr/lib/cgit", "/usr/lib/git-core"]


@pytest.fixture(params=[5, pytest.param(200, marks=pytest.mark.slow)])
def times(request):
    """How often each target is requested each way: enough for a worker to give the same answer again."""
    return request.param


@pytest.fixture(params=WAYS)
def way(request):
    return request.param

# What changes from second to second, in any mode. Only these places are masked.
DATES = re.compile(
    rb"(?m)^(Date|Expires|Last-Modified): .*?\r?$"          # gitweb and cgit count from now
    rb"|Time: \d\d:\d\d:\d\d GMT, \w+ \d\d, \d{4}")         # the last line of man2html

# What nginx sends according to its fastcgi_params, without the client's port, which changes.
PARAMS = """
fastcgi_param QUERY_STRING $query_string;
fastcgi_param REQUEST_METHOD $request_method;
fastcgi_param CONTENT_TYPE $content_type;
fastcgi_param CONTENT_LENGTH $content_length;
fastcgi_param REQUEST_URI $request_uri;
fastcgi_param SERVER_PROTOCOL $server_protocol;
fastcgi_param SERVER_SOFTWARE nginx;
fastcgi_param REMOTE_ADDR $remote_addr;
fastcgi_param SERVER_PORT 80;
fastcgi_param SERVER_NAME localhost;
"""


class Program:
    """One program behind one location; run by hand, it gets what nginx sends."""

    def __init__(self, name, path, **variables):
        self.name = name
        self.path = path
        self.variables = variables

    def location(self):
        own = "\n".join(f'fastcgi_param {name} "{value}";' for name, value in self.variables.items())
        return f"""
location /{self.name} {{
  {PARAMS}
  fastcgi_param SCRIPT_FILENAME {self.path};
  fastcgi_param SCRIPT_NAME /{self.name};
  fastcgi_split_path_info ^(/{self.name})(.*)$;
  fastcgi_param PATH_INFO $fastcgi_path_info;
  {own}
  fastcgi_pass bridge;
}}"""

    def by_hand(self, target, method="GET", body=b"", headers=None):
        """The head and body that the program prints when started by hand."""
        uri, _, query = target.partition("?")
        path_info = uri.removeprefix("/" + self.name)
        real = os.path.realpath(self.path)
        values = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "GATEWAY_INTERFACE": "CGI/1.1",
            "QUERY_STRING": query, "REQUEST_METHOD": method, "REQUEST_URI": target,
            "SERVER_PROTOCOL": "HTTP/1.1", "SERVER_SOFTWARE": "nginx", "REMOTE_ADDR": "127.0.0.1",
            "SERVER_PORT": "80", "SERVER_NAME": "localhost", "SCRIPT_NAME": "/" + self.name,
            "SCRIPT_FILENAME": real, **self.variables,
            "HTTP_HOST": "localhost", "HTTP_ACCEPT_ENCODING": "identity",
        }
        if path_info:
            values["PATH_INFO"] = path_info
        for name, value in (headers or {}).items():
            key = name.upper().replace("-", "_")
            values[key if key == "CONTENT_TYPE" else "HTTP_" + key] = value
        if body:
            values["CONTENT_LENGTH"] = str(len(body))
            values["HTTP_CONTENT_LENGTH"] = str(len(body))
        if method == "POST":
            values["HTTP_CONTENT_TYPE"] = values.get("CONTENT_TYPE", "")
        done = subprocess.run([self.path], input=body, env=values, capture_output=True,
                              cwd=os.path.dirname(real))
        return done.stdout


def split(printed):
    """(status, body) of a program's output, with dates masked."""
    found = re.search(rb"\r?\n\r?\n", printed)
    head, body = printed[:found.start()], printed[found.end():]
    status = re.search(rb"(?mi)^Status: (\d+)", head)
    redirect = re.search(rb"(?mi)^Location:", head)
    return (int(status.group(1)) if status else 302 if redirect else 200), DATES.sub(b"", body)


def content_fields(fields):
    return {name: value for name, value in fields.items()
            if name in ("content-type", "content-disposition", "etag", "location", "pragma")}


def start(site, program, way, settings=""):
    """A bridge that answers this way, and nginx in front of it; both are ready."""
    reset = "fork" if way == "classic" else way
    bridge = site.start_bridge(
        f'mode = "{"classic" if way == "classic" else "persistent"}"\nreset = "{reset}"\n{settings}',
        roots=[*ROOTS, site.cgi_bin], name=f"{way}.toml", listen=[f"unix:{site.folder}/{way}.sock"])
    nginx = site.start_nginx(bridge, keep_alive=True, locations=program.location())
    return bridge, nginx


def warm(bridge, program, way, nginx, target):
    if way == "classic":
        return
    nginx.send_request(target)
    assert bridge.wait_warm(program.path)["arm"] == f"persistent/{way}"


def check_workers(bridge, program, way, retired=(), learning=()):
    """Checks that this way answered to the end. retired: why each request of the program costs a worker, if
    it does. learning: why single requests did, before its libraries were learned."""
    entry = bridge.program(program.path)
    print(way, {key: entry.get(key) for key in ("rewind", "retired", "reset_reason")})
    if way == "classic":
        return
    assert sum(entry["retired"].pop(reason, 0) for reason in learning) <= 5
    # That another program was executed can be seen only while that program runs.
    reasons = {"left" if reason == "executed" else reason for reason in entry["retired"]}
    assert reasons == (set(retired) if way == "rewind" else set())
    assert entry["rewind"]["differences"] == 0
    if retired and way == "rewind":
        # In the end the bridge stops trying.
        assert entry["arm"] == "persistent/fork" and any(
            word in entry["reset_reason"] for word in (retired[0], "executed"))
        return
    assert entry["arm"] == f"persistent/{way}", entry["reset_reason"]
    assert way == "fork" or entry["rewind"]["verified"] > 0


def compare(site, program, targets, times, settings="", retired=(), learning=()):
    """Requests each target this often in each way, and twice in classic; all answers are equal, and the same
    as by hand."""
    if retired:
        times = max(times, 20)  # it takes some requests until the bridge stops trying what never succeeds
    wanted = {target: split(program.by_hand(target)) for target in targets}
    fields = {}
    for way in WAYS:
        bridge, nginx = start(site, program, way, settings)
        warm(bridge, program, way, nginx, targets[0])
        for target in targets:
            for n in range(times if way != "classic" else 2):
                answer = nginx.send_request(target, headers={"Host": "localhost"})
                got = answer.status, DATES.sub(b"", answer.body)
                assert got == wanted[target], f"{way}, request {n} of {target}"
                head = content_fields(answer.headers)
                assert head == fields.setdefault(target, head), f"{way}, request {n} of {target}"
        check_workers(bridge, program, way, retired, learning)


GIT = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "A",
       "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
       "GIT_AUTHOR_DATE": "2001-02-03T04:05:06Z", "GIT_COMMITTER_DATE": "2001-02-03T04:05:06Z"}


def git(*words, cwd=None, home=None):
    done = subprocess.run(["git", *map(str, words)], cwd=cwd, capture_output=True, text=True,
                          env=environment(HOME=str(home or cwd), **GIT))
    assert done.returncode == 0, f"git {words}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


@pytest.fixture
def repositories(site):
    """A folder with one bare repository of three commits, all from 2001."""
    work, folder = site.folder / "work", site.folder / "repositories"
    git("init", "-q", "-b", "main", work, cwd=site.folder)
    for n in range(3):
        (work / "file.txt").write_text("".join(f"line {line} of {n}\n" for line in range(200)))
        (work / f"added-{n}.c").write_text(f"int f{n}(void) {{ return {n}; }}\n")
        git("add", ".", cwd=work)
        git("commit", "-q", "-m", f"commit {n}\n\nwith a body", cwd=work)
    git("clone", "-q", "--bare", work, folder / "demo.git", cwd=site.folder)
    git("config", "http.receivepack", "true", cwd=folder / "demo.git")
    (folder / "demo.git" / "description").write_text("a repository to show\n")
    (folder / "demo.git" / "git-daemon-export-ok").touch()
    return folder


def test_gitweb(site, repositories, times):
    config = site.folder / "gitweb.conf"
    config.write_text(f'$projectroot = "{repositories}";\n$site_name = "demo";\n'
                      "$feature{'timed'}{'default'} = [0];\n1;\n")
    program = Program("gitweb", "/usr/lib/cgi-bin/gitweb.cgi", GITWEB_CONFIG=config)
    compare(site, program, ["/gitweb", "/gitweb?p=demo.git;a=commitdiff;h=HEAD",
                            "/gitweb?p=demo.git;a=blob_plain;f=file.txt;hb=HEAD",
                            "/gitweb?p=no.git;a=summary"], times, settings="workers = { max = 4 }")


def test_cgit(site, repositories, times):
    config = site.folder / "cgitrc"
    footer = site.folder / "footer"
    footer.write_text("no date here\n")
    config.write_text(f"cache-size=0\nfooter={footer}\nscan-path={repositories}\n")
    program = Program("cgit", "/usr/lib/cgit/cgit.cgi", CGIT_CONFIG=config)
    compare(site, program, ["/cgit", "/cgit/demo/", "/cgit/demo/commit/", "/cgit/demo/tree/file.txt",
                            "/cgit/demo/plain/file.txt", "/cgit/none/"], times)


def test_awstats(site, times):
    # No two pages and no two hosts have the same number of hits, because awstats leaves the order of ties to
    # perl's random hashes.
    pages = [page for page in range(9) for _ in range(30 + 6 * page)]
    hosts = [host for host in range(7) for _ in range(40 + 9 * host)]
    log = site.folder / "access.log"
    log.write_text("".join(
        f'10.0.0.{host} - - [{n // 17 + 1:02}/Mar/2024:{n % 17:02}:00:00 +0000] '
        f'"GET /page{page}.html HTTP/1.1" 200 {1000 + n} "-" "Mozilla/5.0 (X11; Linux)"\n'
        for n, (page, host) in enumerate(zip(pages, hosts))))
    data = site.folder / "awstats"
    data.mkdir()
    (data / "awstats.demo.conf").write_text(
        f'LogFile="{log}"\nLogFormat=1\nSiteDomain="demo"\nHostAliases="localhost"\n'
        f'DirData="{data}"\nDNSLookup=0\nLang="en"\nDirIcons="/icon"\n'
        'AllowToUpdateStatsFromBrowser=0\nDirLang="/usr/share/awstats/lang"\n')
    program = Program("awstats", "/usr/lib/cgi-bin/awstats.pl", AWSTATS_ENABLE_CONFIG_DIR="1")
    subprocess.run(["/usr/lib/cgi-bin/awstats.pl", "-config=demo", f"-configdir={data}", "-update"],
                   check=True, capture_output=True, env=environment(AWSTATS_ENABLE_CONFIG_DIR="1"))
    where = f"configdir={data}&config=demo&month=03&year=2024"
    compare(site, program, [f"/awstats?{where}", f"/awstats?{where}&output=urldetail",
                            f"/awstats?{where}&output=lasthosts", "/awstats?config=none"], times)


def test_man2html(site, times):
    """It shows the system's own manual pages; git's come with git. It is a program that ends by exec of
    another program."""
    program = Program("man2html", "/usr/lib/cgi-bin/man/man2html")
    compare(site, program, ["/man2html?/usr/share/man/man1/git-clone.1.gz", "/man2html?1+git-clone",
                            "/man2html/usr/share/man/man1/git-push.1.gz", "/man2html?1+no-such-page",
                            "/man2html"], times, retired=["left"])


TDIARY_CONF = """@data_path = "{folder}/data"
@lang = "en"
begin
  require "rackup"  # which Debian 13's tdiary needs as a CGI program, and forgets to load
rescue LoadError
end
@style = "Wiki"
require "tdiary/io/default"
@io_class = TDiary::IO::Default
@options["sp.path"] = ["/usr/share/tdiary/misc/plugin"]
load_cgi_conf
"""
TDIARY_DAYS = """TDIARY2.01.00
Date: 20240102
Title: A day
Last-Modified: 1704153600
Visible: true
Format: Wiki

! A section of it
Some ''text'' of the day.
.
"""


def test_tdiary(site, times):
    """A Ruby program, as its Debian package sets it up: a file of two lines beside the diary's settings."""
    months = site.cgi_bin / "data" / "2024"
    months.mkdir(parents=True)
    (months / "202401.td2").write_text(TDIARY_DAYS)
    (months / "202401.tdc").write_text("TDIARY2.01.00\n")
    (site.cgi_bin / "tdiary.conf").write_text(TDIARY_CONF.format(folder=site.cgi_bin))
    index = shutil.copy("/usr/share/tdiary/debian-tools/index-debian.rb", site.cgi_bin / "index.rb")
    os.chmod(index, 0o755)
    program = Program("tdiary", index)
    program.by_hand("/tdiary")  # the very first request makes files that are kept beside the diary
    compare(site, program, ["/tdiary", "/tdiary?date=20240102"], times,
            learning=["mappings"])


def hg(*words, cwd):
    done = subprocess.run(["hg", "--config", "ui.username=A <a@example.org>", *map(str, words)], cwd=cwd,
                          capture_output=True, text=True, env=environment(HOME=str(cwd), HGPLAIN="1"))
    assert done.returncode == 0, f"hg {words}: {done.stdout}{done.stderr}"


@pytest.mark.plain_build  # takes minutes of Python, and covers no other bridge code than the others
def test_hgweb(site, times):
    """A Python program: Mercurial's own example of a CGI program, with its one setting filled in."""
    work = site.folder / "repositories" / "demo"
    hg("init", work, cwd=site.folder)
    for n in range(3):
        (work / "file.txt").write_text("".join(f"line {line} of {n}\n" for line in range(200)))
        hg("commit", "-q", "-A", "-d", f"{981173106 + n} 0", "-m", f"commit {n}\n\nwith a body", cwd=work)
    settings = site.folder / "hgweb.conf"
    settings.write_text(f"[paths]\n/ = {work.parent}/*\n[web]\nbaseurl = /hg\nallow-archive = gz\n")
    script = site.cgi_bin / "hgweb.cgi"
    given = open("/usr/share/doc/mercurial-common/examples/hgweb.cgi").read()
    assert 'b"/path/to/repo/or/config"' in given
    script.write_text(given.replace('b"/path/to/repo/or/config"', f'b"{settings}"'))
    script.chmod(0o755)
    program = Program("hg", script, HGRCPATH="")
    compare(site, program, ["/hg/", "/hg/demo/rev/2", "/hg/demo/annotate/tip/file.txt",
                            "/hg/demo/archive/1.tar.gz", "/hg/none/"], times)


@pytest.fixture
def backend(repositories):
    return Program("git", "/usr/lib/git-core/git-http-backend", GIT_PROJECT_ROOT=repositories,
                   GIT_HTTP_EXPORT_ALL="1", REMOTE_USER="tester", HOME=str(repositories))


def test_git_http_backend_tells_its_references(site, backend, times):
    compare(site, backend, ["/git/demo.git/info/refs?service=git-upload-pack",
                            "/git/demo.git/info/refs?service=git-receive-pack",
                            "/git/demo.git/HEAD", "/git/demo.git/objects/info/packs",
                            "/git/none.git/HEAD"], times)


def test_git_clone_and_push(site, repositories, backend, way, times):
    bridge, nginx = start(site, backend, way)
    warm(bridge, backend, way, nginx, "/git/demo.git/HEAD")
    bare = repositories / "demo.git"
    for n in range(times):
        clone = site.folder / f"clone-{n}"
        git("clone", "-q", "--depth=1", nginx.url("/git/demo.git"), clone, cwd=site.folder)
        # Large enough to be sent in chunks; nginx and then the bridge give it a length.
        (clone / "pushed.bin").write_bytes(os.urandom(300_000 if n % 5 else 3_000_000))
        git("add", ".", cwd=clone)
        git("commit", "-q", "-m", f"pushed {n}", cwd=clone)
        git("push", "-q", "origin", "main", cwd=clone)
        assert git("rev-parse", "HEAD", cwd=clone) == git("rev-parse", "main", cwd=bare)
        if n % 10 == 0:
            git("fsck", "--strict", cwd=bare)
        shutil.rmtree(clone)
    whole = site.folder / "whole"
    git("clone", "-q", nginx.url("/git/demo.git"), whole, cwd=site.folder)
    assert git("rev-list", "--count", "main", cwd=whole) == str(3 + times)
    git("fsck", "--strict", cwd=whole)
    bridge.wait_idle()
    check_workers(bridge, backend, way)


def test_several_clones_at_once_are_all_whole(site, repositories, backend, way):
    bridge, nginx = start(site, backend, way, 'workers = { max = 4 }\nqueue = { timeout = "60s" }')
    heads = []

    def clone(n):
        git("clone", "-q", nginx.url("/git/demo.git"), site.folder / f"c{n}", cwd=site.folder)
        heads.append(git("rev-parse", "HEAD", cwd=site.folder / f"c{n}"))
    for _ in range(3):
        threads = [threading.Thread(target=clone, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for n in range(8):
            shutil.rmtree(site.folder / f"c{n}")
    assert len(heads) == 24 and len(set(heads)) == 1
    wait_until(lambda: bridge.status()["bridge"]["requests_active"] == 0, "all is done")
    assert pathlib.Path(bridge.address).exists()
