"""A file that a program reads on its way to the checkpoint: a change of it takes effect as in a new
process."""

import pytest

from harness.processes import wait_until

C = r"""
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


@pytest.mark.parametrize("kind", ["c-fopen", "c-openat", "perl"])
def test_a_file_that_a_load_missed_is_noticed_when_it_appears(site, kind):
    conf = site.folder / "site.conf"
    script = MAKE[kind](site, conf)
    bridge = site.start_bridge('mode = "persistent"\n')
    assert bridge.request(script).body == b""
    bridge.wait_warm(script)
    conf.write_text("there\n")
    wait_until(lambda: bridge.request(script).body == b"there\n", "the file is read")


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
