"""Programs that are links: they run by the name that the web server uses, as under fcgiwrap, while the check
of the roots applies to the file that the link leads to."""

import contextlib
import os
import shutil
import socket
import subprocess

import pytest

from harness import processes
from harness.bridge import environment
from harness.fastcgi import Peer
from harness.processes import wait_until

FCGIWRAP = "/usr/sbin/fcgiwrap"
NOBODY = 65534

# Each prints how it sees its own name; the last line is the configuration beside it.
PROGRAMS = {
    "sh": r"""
        #!/bin/sh
        printf 'Content-Type: text/plain\n\n'
        echo "$0|$PWD|$(pwd -P)|$SCRIPT_FILENAME|$SCRIPT_NAME|$PATH_INFO|$PATH_TRANSLATED"
        cat site.conf
        """,
    "bash": r"""
        #!/bin/bash
        printf 'Content-Type: text/plain\n\n'
        echo "$0|${BASH_SOURCE[0]}|$(pwd -P)|$SCRIPT_FILENAME"
        cat "$(dirname "$0")/site.conf"
        """,
    "pl": r"""
        #!/usr/bin/perl
        use FindBin; use Cwd;
        print "Content-Type: text/plain\n\n";
        print join('|', $0, __FILE__, $FindBin::Bin, $FindBin::RealBin, $FindBin::Script, getcwd(),
                   $ENV{SCRIPT_FILENAME}, $ENV{SCRIPT_NAME}), "\n", <DATA>;
        open my $file, '<', 'site.conf' or die; print <$file>;
        __DATA__
        data
        """,
    "py": r"""
        #!/usr/bin/python3
        import os, sys
        print("Content-Type: text/plain\n")
        print(__file__, sys.argv, sys.path[0], os.getcwd(), os.environ["SCRIPT_FILENAME"], sep="|")
        print(open("site.conf").read(), end="")
        """,
    "rb": r"""
        #!/usr/bin/ruby
        puts "Content-Type: text/plain\n\n"
        puts [$0, __FILE__, __dir__, Dir.pwd, ENV["SCRIPT_FILENAME"], ENV["SCRIPT_NAME"]].join("|")
        require_relative "beside"
        puts File.read("site.conf")
        """,
    "tcl": r"""
        #!/usr/bin/tclsh
        puts "Content-Type: text/plain\n"
        puts [join [list $argv0 [info script] [pwd] $env(SCRIPT_FILENAME)] |]
        puts -nonewline [read [open site.conf]]
        """,
    "js": r"""
        #!/usr/bin/node
        const fs = require('fs');
        console.log('Content-Type: text/plain\n');
        console.log([process.argv[1], __filename, __dirname, process.cwd()].join('|'));
        console.log(process.env.SCRIPT_FILENAME);
        fs.writeSync(1, fs.readFileSync('site.conf', 'utf8'));
        """,
    "php": r"""
        #!/usr/bin/php-cgi
        <?php header('Content-Type: text/plain');
        echo implode('|', [__FILE__, __DIR__, getcwd(), $_SERVER['SCRIPT_NAME']]), "\n";
        echo $_SERVER['SCRIPT_FILENAME'], "\n";
        echo file_get_contents('site.conf');
        """,
}
NEEDS = {"rb": "ruby", "tcl": "tclsh", "js": "node", "php": "php-cgi"}
NATIVE = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    int main(int argc, char** argv) {
      char cwd[4096], line[100] = "";
      FILE* file = fopen("site.conf", "r");
      if (file == NULL || fgets(line, sizeof line, file) == NULL) return 1;
      printf("Content-Type: text/plain\n\n%s|%s|%s\n%s", argv[0], getcwd(cwd, sizeof cwd),
             getenv("SCRIPT_FILENAME"), line);
      return 0;
    }
    """
WARM = 'mode = "persistent"\nworkers = {{ max = 1, spare = 1 }}\nreset = "{}"\n'


def skip_unless(language):
    needed = NEEDS.get(language)
    if needed and not shutil.which(needed):
        pytest.skip(f"no {needed}")


@contextlib.contextmanager
def fcgiwrap(site):
    """A real peer, which runs each request by the name that it receives."""
    path = str(site.folder / "fcgiwrap.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        wrap = subprocess.Popen([FCGIWRAP], stdin=listener, stdout=subprocess.DEVNULL, env=environment())
    try:
        yield path
    finally:
        wrap.terminate()
        wrap.wait()
        os.unlink(path)


def asked(site, link, path_info="", address=None, bridge=None):
    """The answer's body. The web server's other variables are the same for both."""
    name = f"/cgi-bin/{link.name}"
    more = {"SCRIPT_NAME": name, "DOCUMENT_ROOT": str(site.folder), "REDIRECT_STATUS": "200"}
    if path_info:
        more |= {"PATH_INFO": path_info, "PATH_TRANSLATED": f"{site.folder}{path_info}"}
    with Peer(address) if bridge is None else bridge.connect() as peer:
        response = peer.request(link, keep=False, **more)
    assert response.status == 200, (response.status, response.body)
    return response.body


def sites(site, language):
    """Two sites whose links lead to one program: one directly to the file, one by a chain of relative links,
    in a folder that is itself a link. Each has its own configuration beside the link."""
    name = f"program.{language}"
    shared = site.cgi_bin / "shared"
    if language == "c":
        shared.mkdir()
        site.c("native", NATIVE).rename(shared / name)
    else:
        site.script(f"shared/{name}", PROGRAMS[language])
    site.script("shared/beside.rb", 'puts "beside: #{__FILE__}"\n')
    links = []
    for which in ("one", "two"):
        folder = site.cgi_bin / f"site-{which}"
        folder.mkdir()
        (folder / "site.conf").write_text(f"the configuration of {which}\n")
        links.append(folder / "index.cgi")
    links[0].symlink_to(shared / name)
    (site.cgi_bin / "hop").symlink_to("shared/" + name)
    links[1].symlink_to("../hop")
    (site.cgi_bin / "alias").symlink_to("site-two")
    return links[0], site.cgi_bin / "alias" / "index.cgi"


@pytest.mark.skipif(not os.path.exists(FCGIWRAP), reason="no fcgiwrap")
@pytest.mark.parametrize("language", [*PROGRAMS, "c"])
def test_a_linked_program_sees_its_name_as_under_fcgiwrap_in_every_mode(site, language):
    skip_unless(language)
    links = sites(site, language)
    with fcgiwrap(site) as address:
        wanted = {link: asked(site, link, "/a/b", address) for link in links}
    for link, which in zip(links, ("one", "two")):
        assert f"configuration of {which}".encode() in wanted[link]
        assert str(link).encode() in wanted[link]
    bridge = site.start_bridge('mode = "classic"\n')
    for defaults in ('mode = "classic"\n', WARM.format("fork"), WARM.format("rewind")):
        site.rewrite_config(defaults)
        bridge.command("reload")
        for link in links:
            assert asked(site, link, "/a/b", bridge=bridge) == wanted[link], defaults
            if "classic" in defaults:
                continue
            bridge.wait_warm(link)
            for _ in range(3):
                assert asked(site, link, "/a/b", bridge=bridge) == wanted[link], defaults
    paths = [entry["path"] for entry in bridge.status()["programs"]]
    assert sorted(paths) == sorted(map(str, links)), "a pool for each name, and none for the file"


@pytest.mark.parametrize("mode", ["split", "shadow"])
def test_both_arms_of_a_linked_program_answer_alike(site, mode):
    link, _ = sites(site, "pl")
    bridge = site.start_bridge(f'mode = "{mode}"\nsplit = {{ persistent = 50 }}\n'
                               "workers = { max = 1, spare = 1 }\n")
    bridge.request(link)
    bridge.wait_warm(link)
    bodies = {asked(site, link, bridge=bridge) for _ in range(6)}
    assert len(bodies) == 1
    if mode == "shadow":
        wait_until(lambda: bridge.program(link)["shadow"]["compared"] > 0, "one was compared")
        assert bridge.program(link)["shadow"]["different"] == 0


def test_settings_are_those_of_the_name(site):
    link, alias = sites(site, "sh")
    bridge = site.start_bridge('mode = "classic"\n', f"""
        [[program]]
        name = "file"
        match = "{site.cgi_bin}/shared/*"
        env = {{ WHOSE = "the file's" }}
        [[program]]
        name = "one"
        match = "{link}"
        env = {{ WHOSE = "the link's" }}
        """)
    site.script("shared/program.sh", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; echo $WHOSE\n")
    assert bridge.request(link).body == b"the link's\n"
    assert bridge.request(alias).body == b"\n"
    assert bridge.request(site.cgi_bin / "shared" / "program.sh").body == b"the file's\n"


@pytest.mark.parametrize("mode", ["classic", "persistent"])
def test_a_link_that_is_pointed_elsewhere_is_followed_at_once(site, mode):
    releases = {}
    for name in ("v1", "v2"):
        releases[name] = site.cgi_bin / name
        site.perl(f"{name}/index.pl", f'print "Content-Type: text/plain\\n\\n$0 {name} "; do "./lib.pl";')
        (releases[name] / "lib.pl").write_text(f'print "lib {name}\\n";')
    # Deployed by `rsync --link-dest`: an unchanged file is one file with two names.
    shutil.copytree(releases["v1"], site.cgi_bin / "v3", copy_function=os.link)
    (site.cgi_bin / "v3" / "lib.pl").unlink()
    (site.cgi_bin / "v3" / "lib.pl").write_text('print "lib v3\\n";')
    current = site.cgi_bin / "current"

    def point(target):
        os.symlink(target, f"{current}.next")
        os.rename(f"{current}.next", current)
    point("v1")
    program = current / "index.pl"
    bridge = site.start_bridge(f'mode = "{mode}"\nworkers = {{ max = 1, spare = 1 }}\n')
    for target, said in (("v1", "v1 lib v1"), ("v2", "v2 lib v2"), ("v1", "v1 lib v1"), ("v3", "v1 lib v3")):
        point(target)
        for _ in range(2):
            assert bridge.request(program).body.decode() == f"{program} {said}\n"
            if mode == "persistent":
                bridge.wait_warm(program)


@pytest.mark.parametrize("mode", ["classic", "persistent"])
def test_what_has_left_the_roots_is_not_run_once_more(site, mode):
    site.perl("app/sub/index.pl", 'print "Content-Type: text/plain\\n\\nhere\\n";')
    (site.cgi_bin / "link.pl").symlink_to("app/sub/index.pl")
    programs = [site.cgi_bin / "link.pl", site.cgi_bin / "app" / "sub" / "index.pl"]
    bridge = site.start_bridge(f'mode = "{mode}"\nworkers = {{ max = 1, spare = 1 }}\n')
    bridge.allow_log("outside the roots")
    for program in programs:
        assert bridge.request(program).status == 200
        if mode == "persistent":
            bridge.wait_warm(program)
    # The very same file; only its place has changed.
    (site.cgi_bin / "app").rename(site.folder / "app")
    (site.cgi_bin / "app").symlink_to(site.folder / "app")
    assert [bridge.request(program).status for program in programs] == [403, 403]
    (site.cgi_bin / "app").unlink()
    (site.folder / "app").rename(site.cgi_bin / "app")
    assert [bridge.request(program).status for program in programs] == [200, 200]


def test_a_root_may_be_one_file(site):
    outside = site.folder / "outside"
    site.sh("x", "printf 'Content-Type: text/plain\\n\\n'; echo $0").rename(outside)
    link = site.cgi_bin / "link"
    link.symlink_to(outside)
    bridge = site.start_bridge('mode = "classic"\n')
    bridge.allow_log("outside the roots")
    assert bridge.request(link).status == 403
    site.rewrite_config('mode = "classic"\n', roots=[site.cgi_bin, outside])
    bridge.command("reload")
    assert bridge.request(link).body.decode() == f"{link}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes root's links")
def test_roots_own_links_may_lead_out_of_the_roots_if_the_operator_says_so(site):
    outside = site.folder / "outside"
    site.sh("x", "printf 'Content-Type: text/plain\\n\\n'; echo $0").rename(outside)
    link, theirs = site.cgi_bin / "link", site.cgi_bin / "theirs"
    for name in (link, theirs):
        name.symlink_to(outside)
    os.lchown(theirs, 65534, 65534)
    bridge = site.start_bridge('mode = "classic"\n', bridge="root_links = true\n")
    bridge.allow_log("outside the roots")
    assert bridge.request(link).body.decode() == f"{link}\n"
    assert bridge.request(theirs).status == 403
    assert bridge.request(outside).status == 403
    bridge.expect_log(f"others than root can change the link {theirs}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a program as its owner")
def test_an_owner_has_to_own_the_link_as_well_as_the_file(site):
    folders = [site.cgi_bin / name for name in ("real", "links", "roots", "open")]
    for folder in folders:
        folder.mkdir()
    real, links, roots, everybodys = folders
    for folder in (real, links, everybodys):
        os.chown(folder, NOBODY, NOBODY)
    everybodys.chmod(0o777)
    program = site.sh("real/program", "printf 'Content-Type: text/plain\\n\\n'; echo $0 $(id -u)")
    os.chown(program, NOBODY, NOBODY)
    for folder, owner in ((links, NOBODY), (roots, NOBODY), (everybodys, NOBODY), (real, 0)):
        link = folder / "link"
        link.symlink_to(program)
        os.lchown(link, owner, owner)
    (links / "by-way").symlink_to("/" + str((roots / "link").relative_to("/")))
    os.lchown(links / "by-way", NOBODY, NOBODY)
    bridge = site.start_bridge('mode = "classic"\nuser = "owner"\n')
    assert bridge.request(links / "link").body.decode() == f"{links}/link {NOBODY}\n"
    # A link on the way may be in root's folder; the one that is named may not.
    assert bridge.request(links / "by-way").body.decode() == f"{links}/by-way {NOBODY}\n"
    assert [bridge.request(folder / "link").status for folder in (roots, everybodys, real)] == [403] * 3
    for why in (f"folder {roots} belongs to uid 0", f"{everybodys} can be written to by everybody",
                f"the link {real}/link belongs to uid 0"):
        bridge.expect_log(why)


@pytest.mark.parametrize("command", ["try", "check"])
def test_the_commands_run_a_link_by_its_name(site, command):
    link, alias = sites(site, "sh")
    for program in (link, alias):
        done = site.cgibridge(command, program, *(["--json"] if command == "check" else []))
        assert str(program) in done.stdout
        if command == "try":
            assert f"configuration of {'one' if program == link else 'two'}" in done.stdout
    # Run from its own folder, as people do.
    more = ["--json"] if command == "check" else []
    done = site.cgibridge(command, "./index.cgi", *more, cwd=link.parent)
    assert str(link) in done.stdout


def test_processes_of_a_link_are_told_by_its_name(site):
    link, _ = sites(site, "pl")
    bridge = site.start_bridge(WARM.format("rewind"))
    bridge.request(link)
    entry = bridge.wait_warm(link)
    assert str(link) in processes.command_of(entry["zygote_pid"]) + str(entry["path"])
