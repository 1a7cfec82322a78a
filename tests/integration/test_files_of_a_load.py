"""A file that a program reads on its way to the checkpoint: a change of it takes effect as in a new
process."""

import os
import pathlib
import tempfile
import time

import pytest

from harness.processes import wait_until

C = r"""
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <stdio.h>
    #include <unistd.h>
    static char text[64];
    __attribute__((constructor)) static void begin(void) { %s }
    int main(void) { printf("Content-Type: text/plain\n\n%%s", text); return 0; }
    """
BY_FOPEN = 'FILE *file = fopen("%s", "r"); if (file) { fgets(text, 64, file); fclose(file); }'
BY_OPEN = 'int file = open("%s", O_RDONLY); if (file >= 0 && read(file, text, 63) < 0) _exit(9); close(file);'
BY_OPENAT = BY_OPEN.replace("open(", "openat(AT_FDCWD, ")
BY_FOLDER = """
    int folder = open("{folder}", O_PATH), file = openat(folder, "%s", O_RDONLY);
    if (file >= 0 && read(file, text, 63) < 0) _exit(9);
    close(file); close(folder);"""
PERL = """
    our $text; BEGIN { open my $file, '<', '%s'; $text = <$file> // ''; }
    print "Content-Type: text/plain\\n\\n$text";
    """
PYTHON = """
    import own
    print("Content-Type: text/plain\\n\\n" + own.text, end="")
    """
RUBY = """
    require_relative 'own'
    print "Content-Type: text/plain\\n\\n", TEXT
    """


def make_python(site, conf):
    (site.cgi_bin / "own.py").write_text(f"text = open('{conf}').read()\n")
    return site.python("x.py", PYTHON)


def make_ruby(site, conf):
    (site.cgi_bin / "own.rb").write_text(f"TEXT = File.read('{conf}')\n")
    return site.script("x.rb", "#!/usr/bin/ruby\n" + RUBY)


MAKE = {
    "c-fopen": lambda site, conf: site.c("x", C % (BY_FOPEN % conf)),
    "c-open": lambda site, conf: site.c("x", C % (BY_OPEN % conf)),
    "c-openat": lambda site, conf: site.c("x", C % (BY_OPENAT % conf)),
    "c-root": lambda site, conf: site.c("x", C % (BY_OPEN % f"/proc/self/root{conf}")),
    "c-folder": lambda site, conf: site.c("x", C % (BY_FOLDER.format(folder=conf.parent) % conf.name)),
    "perl": lambda site, conf: site.perl("x.pl", PERL % conf),
    "python": make_python,
    "ruby": make_ruby,
}


@pytest.mark.parametrize("kind", MAKE)
def test_an_edit_of_a_file_that_a_load_reads_is_noticed(site, kind):
    conf = site.folder / "site.conf"
    conf.write_text("one\n")
    script = MAKE[kind](site, conf)
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"\n')
    assert bridge.request(script).body == b"one\n"
    bridge.wait_warm(script)
    for _ in range(3):
        assert bridge.request(script).body == b"one\n"
    first = bridge.program(script)
    assert first["requests_persistent"] > 0
    for text in ("two\n", "three\n"):
        conf.write_text(text)
        # Until it is noticed, within half a second, a request may be answered classic and the next warm.
        wait_until(lambda: all(bridge.request(script).body == text.encode() for _ in range(5)),
                   "the new text is answered")
        for _ in range(3):
            assert bridge.request(script).body == text.encode()
    bridge.wait_warm(script)
    assert bridge.request(script).body == b"three\n"
    # In Ruby, each request loads the files beside the script itself.
    assert kind == "ruby" or bridge.program(script)["generation"] > first["generation"]


@pytest.mark.parametrize("kind", ["c-fopen", "python"])
def test_an_edit_of_a_file_in_shared_memory_is_noticed(site, kind):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        conf = pathlib.Path(folder, "site.conf")
        conf.write_text("one\n")
        script = MAKE[kind](site, conf)
        bridge = site.start_bridge('mode = "persistent"\nlearn = "all"\n')
        assert bridge.request(script).body == b"one\n"
        bridge.wait_warm(script)
        conf.write_text("two\n")
        wait_until(lambda: all(bridge.request(script).body == b"two\n" for _ in range(5)), "it is answered")


@pytest.mark.parametrize("kind", ["c-fopen", "c-openat", "c-folder", "perl"])
def test_a_file_that_a_load_missed_is_noticed_when_it_appears(site, kind):
    conf = site.folder / "site.conf"
    script = MAKE[kind](site, conf)
    bridge = site.start_bridge('mode = "persistent"\n')
    assert bridge.request(script).body == b""
    bridge.wait_warm(script)
    conf.write_text("there\n")
    wait_until(lambda: bridge.request(script).body == b"there\n", "the file is read")


# What a load only looks at: how each language does it, and the change that must be noticed.
C_LOOK = r"""
    #include <dirent.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <sys/stat.h>
    #include <unistd.h>
    static char text[512];
    __attribute__((constructor)) static void begin(void) { struct stat status; struct dirent *entry; %s }
    int main(void) { printf("Content-Type: text/plain\n\n%%s", text); return 0; }
    """
LOOKS = {
    "c-access": C_LOOK % 'sprintf(text, "%%d", access("{conf}", F_OK));',
    "c-stat": C_LOOK % 'sprintf(text, "%%d", stat("{conf}", &status));',
    "c-lstat": C_LOOK % 'if (lstat("{conf}", &status) == 0) sprintf(text, "%%ld", status.st_mtime);',
    "c-fstatat": C_LOOK % ('if (fstatat(AT_FDCWD, "{conf}", &status, 0) == 0)'
                           ' sprintf(text, "%%ld", status.st_mtime);'),
    "c-readlink": C_LOOK % 'if (readlink("{link}", text, 500) < 0) text[0] = 0;',
    "c-opendir": C_LOOK % ('int count = 0; DIR *folder = opendir("{folder}");'
                           ' while (folder && (entry = readdir(folder))) ++count;'
                           ' sprintf(text, "%%d", count);'),
    "perl-exists": "BEGIN {{ our $text = -e '{conf}' ? 'there' : 'not there'; }}",
    "perl-size": "BEGIN {{ our $text = -s '{conf}'; }}",
    "perl-time": "BEGIN {{ our $text = (stat '{conf}')[9]; }}",
    "perl-readlink": "BEGIN {{ our $text = readlink '{link}'; }}",
    "perl-glob": "BEGIN {{ our $text = join ' ', glob '{folder}/*.conf'; }}",
    "perl-opendir": "BEGIN {{ opendir my $d, '{folder}'; our $text = join ' ', sort readdir $d }}",
    "python-exists": "import os; text = str(os.path.exists('{conf}'))",
    "python-time": "import os; text = str(os.stat('{conf}').st_mtime)",
    "python-readlink": "import os; text = os.readlink('{link}')",
    "python-access": "import os; text = str(os.access('{conf}', os.R_OK))",
    "python-listdir": "import os; text = ' '.join(sorted(os.listdir('{folder}')))",
    "python-scandir": "import os; text = ' '.join(sorted(one.name for one in os.scandir('{folder}')))",
    "python-glob": "import glob; text = ' '.join(sorted(glob.glob('{folder}/*.conf')))",
    "python-plugins": "import pkgutil\n"
                      "text = ' '.join(one.name for one in pkgutil.iter_modules(['{folder}']))",
}


def make_look(site, kind):
    """The program, and the three things it may look at."""
    conf, folder, link = site.folder / "site.conf", site.folder / "conf.d", site.folder / "current"
    conf.write_text("one")
    os.utime(conf, (1, 1))
    for name in ("conf.d", "first", "second"):
        (site.folder / name).mkdir()
    (folder / "one.conf").write_text("")
    link.symlink_to("first")
    text = LOOKS[kind].format(conf=conf, folder=folder, link=link) if kind[0] != "c" else \
        LOOKS[kind].replace("{conf}", str(conf)).replace("{folder}", str(folder)).replace("{link}", str(link))
    if kind.startswith("c-"):
        return site.c("x", text.replace("%%", "%"))
    if kind.startswith("perl"):
        return site.perl("x.pl", text + 'print "Content-Type: text/plain\\n\\n$text";\n')
    (site.cgi_bin / "own.py").write_text(text + "\n")
    return site.python("x.py", PYTHON)


def wait_generation_after(bridge, script, number):
    wait_until(lambda: bridge.program(script)["generation"] > number, "a new generation serves")
    bridge.wait_warm(script)


def change_what_is_looked_at(site):
    (site.folder / "conf.d" / "two.conf").write_text("")
    (site.folder / "conf.d" / "three.py").write_text("")
    (site.folder / "new").symlink_to("second")
    os.rename(site.folder / "new", site.folder / "current")


@pytest.mark.parametrize("kind", LOOKS)
def test_a_change_of_what_a_load_only_looks_at_is_noticed(site, kind):
    script = make_look(site, kind)
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"\n')
    first = bridge.request(script).body
    begun = bridge.program(script)["generation"]
    bridge.wait_warm(script)
    assert bridge.request(script).body == first
    if kind.startswith("python"):  # its next generation loads the module beside it ahead
        wait_generation_after(bridge, script, begun)
        assert bridge.request(script).body == first
    before = bridge.program(script)["generation"]
    change_what_is_looked_at(site)
    if "exists" in kind or "access" in kind or kind == "c-stat":
        (site.folder / "site.conf").unlink()
    else:
        (site.folder / "site.conf").write_text("longer")
    wait_until(lambda: bridge.request(script).body != first, "the change is seen")
    second = bridge.request(script).body
    wait_generation_after(bridge, script, before)
    for _ in range(5):
        assert bridge.request(script).body == second


QUIET_PERL = """
    BEGIN { our $there = -d '%s' && -e '%s/x.pl'; }
    print "Content-Type: text/plain\\n\\n$there";
    """


@pytest.mark.parametrize("kind", ["perl", "python"])
def test_what_programs_write_into_a_folder_that_was_only_looked_at_starts_nothing_anew(site, kind):
    """Python's finders list the script's folder for themselves."""
    if kind == "perl":
        script = site.perl("x.pl", QUIET_PERL % (site.cgi_bin, site.cgi_bin))
    else:
        (site.cgi_bin / "own.py").write_text(f"import os; text = str(os.path.isdir('{site.cgi_bin}'))\n")
        script = site.python("x.py", PYTHON)
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"\n')
    first = bridge.request(script).body
    begun = bridge.program(script)["generation"]
    bridge.wait_warm(script)
    assert bridge.request(script).body == first
    if kind == "python":
        wait_generation_after(bridge, script, begun)
    before = bridge.program(script)["generation"]
    for number in range(10):
        (site.cgi_bin / f"data.{number}").write_text("x")
        assert bridge.request(script).body == first
        time.sleep(0.06)
    assert bridge.program(script)["generation"] == before


def test_a_file_that_only_requests_read_starts_nothing_anew(site):
    conf = site.folder / "site.conf"
    conf.write_text("one\n")
    script = site.perl("x.pl", PERL.replace("BEGIN {", "{") % conf)
    bridge = site.start_bridge('mode = "persistent"\n')
    bridge.request(script)
    bridge.wait_warm(script)
    first = bridge.program(script)["generation"]
    for text in ("two\n", "three\n"):
        conf.write_text(text)
        for _ in range(20):
            assert bridge.request(script).body == text.encode()
    assert bridge.program(script)["generation"] == first
