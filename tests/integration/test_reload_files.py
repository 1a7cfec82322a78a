"""A change of anything that a program was made from (the program, a file that it loaded, its interpreter, a
shared library) reaches the next request and loses none. Files that change all the time are not compiled all
the time. Settings with which a program does not start leave the old generation serving."""

import os
import shutil
import threading
import time

import pytest

from harness.compiled import compile_library, compile_program
from harness.processes import wait_until

PAUSE = 0.005  # seconds, between the requests of the load
PLAIN = "Content-Type: text/plain\\n\\n"

# Programs that answer what `word` says, with the word in the program itself.
PROGRAMS = {
    "c": None,
    "bash": "#!/bin/bash\nprintf '" + PLAIN + "%s\\n' {word}\n",
    "perl": "#!/usr/bin/perl\nprint \"" + PLAIN + "{word}\\n\";\n",
    "python": "#!/usr/bin/python3\nprint('" + PLAIN + "{word}')\n",
    "tcl": "#!/usr/bin/tclsh\nputs \"" + PLAIN + "{word}\"\n",
}
# The same with the word in a file that they load; {lib} is a folder on the interpreter's path.
LOADERS = {
    "perl": ("Word.pm", "package Word; our $word = '{word}'; 1;\n",
             "#!/usr/bin/perl\nuse Word;\nprint \"" + PLAIN + "$Word::word\\n\";\n", "PERL5LIB"),
    "python": ("word_of.py", "word = '{word}'\n",
               "#!/usr/bin/python3\nimport word_of\nprint('" + PLAIN + "' + word_of.word)\n", "PYTHONPATH"),
    "tcl": ("word.tcl", "set word {word}; package provide word 1.0\n",
            "#!/usr/bin/tclsh\npackage require word\nputs \"" + PLAIN + "$word\"\n", "TCLLIBPATH"),
    "bash": ("word.sh", "word={word}\n",
             "#!/bin/bash\n. $WORDLIB/word.sh\nprintf '" + PLAIN + "%s\\n' $word\n", "WORDLIB"),
}
C_TEXT = '#include <stdio.h>\nint main(void) {{ puts("' + PLAIN + '{word}"); return 0; }}\n'
LIBRARY_TEXT = 'const char *word(void) {{ return "{word}"; }}\n'


def compiled(site, target, text, *flags):
    """Compiles elsewhere and renames the result, as an installer does."""
    source = site.folder / (target.name + ".c")
    source.write_text(text)
    fresh = site.folder / (target.name + ".fresh")
    compile_program("cc", source, fresh, ["-O1", *flags])
    os.rename(fresh, target)
    return target


def write(site, language, word):
    if language == "c":
        return compiled(site, site.cgi_bin / "program", C_TEXT.format(word=word))
    return site.script("program", PROGRAMS[language].replace("{word}", word))


class Load(threading.Thread):
    """Sends requests all the time. What was written before a request was sent must be in its answer."""

    def __init__(self, bridge, script):
        super().__init__()
        self.bridge, self.script = bridge, script
        self.newest, self.grace, self.stopped = 0, 0.0, False
        self.answers, self.problems = 0, []
        self.changed_at = 0.0

    def run(self):
        while not self.stopped:
            with self.bridge.connect() as peer:
                for _ in range(20):
                    self.ask(peer)
                    time.sleep(PAUSE)

    def ask(self, peer):
        wanted, settled = self.newest, time.monotonic() - self.changed_at > self.grace
        response = peer.request(self.script)
        self.answers += 1
        got = int(response.body) if response.status == 200 and response.body.strip().isdigit() else None
        if got is None or (settled and got < wanted):
            self.problems.append((response.status, response.body, wanted, response.stderr[:200]))

    def changes(self, count, change, pause=0.15):
        """Calls change(word) for words 1 to count; at the end warm workers must serve the newest."""
        for word in range(1, count + 1):
            change(str(word))
            self.changed_at = time.monotonic()
            self.newest = word
            time.sleep(pause)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *unused):
        self.stopped = True
        self.join()
        assert self.problems == [] and self.answers > 0


def warm(bridge, script):
    bridge.request(script)
    return bridge.wait_warm(script)


def serves_warm(bridge, script, word):
    def newest():
        before = bridge.program(script)["requests_persistent"]
        return bridge.request(script).body == word and bridge.program(script)["requests_persistent"] > before
    wait_until(newest, f"warm workers answer {word}", 20)


def needs(interpreter):
    if not os.path.exists(interpreter):
        pytest.skip(f"{interpreter} is not installed")


@pytest.fixture(params=["fork", "rewind"])
def reset(request):
    return request.param


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_changed_program_reaches_the_next_request_and_loses_none(site, reset, language):
    script = write(site, language, "0")
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"')
    warm(bridge, script)
    with Load(bridge, script) as load:
        load.changes(4, lambda word: write(site, language, word))
        serves_warm(bridge, script, b"4\n")


def loader(site, language):
    """The program, a function that writes the file that it loads, and the settings."""
    name, text, program, variable = LOADERS[language]
    lib = site.folder / "lib" / ("word" if language == "tcl" else "")
    lib.mkdir(parents=True, exist_ok=True)
    (lib / "pkgIndex.tcl").write_text("package ifneeded word 1.0 [list source [file join $dir word.tcl]]\n")

    def change(word):
        fresh = lib / "fresh"
        fresh.write_text(text.replace("{word}", word))
        fresh.rename(lib / name)
    change("0")
    env = f'env = {{ {variable} = "{site.folder}/lib" }}\n'
    # Python reuses what it compiled before if the source has the same size and time.
    env = env.replace(" }", ', PYTHONDONTWRITEBYTECODE = "1" }')
    module = {"perl": "Word", "python": "word_of", "tcl": "word/1.0"}.get(language)
    return site.script("program", program), change, env + (f'preload = ["{module}"]\n' if module else "")


@pytest.mark.parametrize("language", LOADERS)
def test_a_changed_file_that_was_loaded_ahead_starts_a_new_generation(site, reset, language):
    script, change, settings = loader(site, language)
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\n{settings}')
    warm(bridge, script)
    assert bridge.request(script).body == b"0\n"
    with Load(bridge, script) as load:
        load.grace = 0.6  # a little more than the longest time between two checks
        load.changes(3, change, pause=0.9)
        serves_warm(bridge, script, b"3\n")
    if language != "bash":
        bridge.expect_log(r"program=\S+: \S+/lib/\S+ has changed: a new generation")


@pytest.mark.parametrize("which", ["a C program", "a Perl program"])
def test_a_changed_shared_library_starts_a_new_generation(site, reset, which):
    """A library that a program is linked with, or that an environment variable makes its interpreter load."""
    library = compiled(site, site.folder / "libword.so", LIBRARY_TEXT.format(word="0"), "-shared", "-fPIC")
    if which == "a C program":
        text = '#include <stdio.h>\nconst char *word(void);\nint main(void) { printf("' + PLAIN + \
               '%s\\n", word()); return 0; }\n'
        script = compiled(site, site.cgi_bin / "program", text, f"-L{site.folder}", "-lword",
                          f"-Wl,-rpath,{site.folder}")
        settings = ""
    else:
        script = site.perl("program", 'print "Content-Type: text/plain\\n\\n0\\n";\n')
        settings = f'env = {{ LD_PRELOAD = "{library}" }}\n'
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\n{settings}')
    generation = warm(bridge, script)["generation"]
    with Load(bridge, script) as load:
        load.grace = 0.6
        for word in ("1", "2"):
            compiled(site, library, LIBRARY_TEXT.format(word=word), "-shared", "-fPIC")
            if which == "a C program":
                load.changed_at, load.newest = time.monotonic(), int(word)
            time.sleep(0.9)
            # Two changes that are seen at once count as one.
            wait_until(lambda word=word: bridge.program(script)["generation"] >= generation + int(word),
                       "a new generation", 20)
    bridge.expect_log(r"libword\.so has changed: a new generation")


@pytest.mark.parametrize("language, interpreter", [
    ("bash", "/bin/bash"), ("perl", "/usr/bin/perl"), ("python", "/usr/bin/python3"), ("c", None),
    ("tcl", "/usr/bin/tclsh8.6")])
def test_a_changed_interpreter_starts_a_new_generation(site, reset, language, interpreter):
    if interpreter is None:
        pytest.skip("a C program has none")
    needs(interpreter)
    own = site.folder / os.path.basename(interpreter)
    shutil.copy2(os.path.realpath(interpreter), own)
    text = PROGRAMS[language].replace("{word}", "0")
    script = site.script("program", f"#!{own}\n" + text.split("\n", 1)[1])
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"')
    generation = warm(bridge, script)["generation"]
    with Load(bridge, script):
        fresh = site.folder / "fresh"
        shutil.copy2(os.path.realpath(interpreter), fresh)
        fresh.rename(own)
        wait_until(lambda: bridge.program(script)["generation"] > generation, "a new generation", 20)
    bridge.expect_log(rf"{own} has changed: a new generation")


def test_a_program_that_is_broken_by_a_change_is_never_answered_by_its_old_self(site, reset):
    script = write(site, "perl", "1")
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"')
    warm(bridge, script)
    bridge.allow_log("program")
    site.script("program", "#!/usr/bin/perl\nthis is no perl at all {\n")
    for _ in range(10):
        response = bridge.request(script)
        assert response.status == 502 and b"1\n" != response.body
        time.sleep(0.05)
    write(site, "perl", "2")
    assert bridge.request(script).body == b"2\n"
    serves_warm(bridge, script, b"2\n")


def test_settings_with_which_nothing_starts_leave_the_old_generation_serving(site, reset):
    """With these settings no zygote reaches its checkpoint in time, at any level."""
    script = write(site, "c", "1")
    common = f'mode = "persistent"\nreset = "{reset}"\n'
    bridge = site.start_bridge(common)
    old = warm(bridge, script)
    (site.folder / "slow.c").write_text(
        "#include <unistd.h>\n__attribute__((constructor)) static void wait_long(void) "
        "{ if (access(\"%s/slow\", F_OK) == 0) sleep(60); }\n" % site.folder)
    compile_library(site.folder / "slow.c", site.folder / "slow.so")
    (site.folder / "slow").touch()
    site.rewrite_config(common + f'env = {{ LD_PRELOAD = "{site.folder}/slow.so" }}\n'
                        'timeouts = { start = "300ms" }\n')
    bridge.hangup()
    bridge.expect_log("settings")
    with Load(bridge, script) as load:
        load.newest = 1
        bridge.expect_log(r"gen=\d+: could not be started: .*; generation \d+ serves on", 20)
        for _ in range(5):
            entry = bridge.program(script)
            assert (entry["generation"], entry["level"]) == (old["generation"], "linked")
            time.sleep(0.1)
    entry = bridge.program(script)
    assert "level linked: not at its checkpoint after 300 ms" in entry["failed_steps"][-1]
    assert "failed: level linked" in bridge.command("status")
    assert entry["newest_generation"] <= old["generation"] + 2, "it is tried again and again"
    (site.folder / "slow").unlink()
    site.rewrite_config(common + 'env = { NEW = "1" }\n')
    bridge.hangup()

    def new_one_serves():
        bridge.request(script)
        return bridge.program(script)["generation"] > old["generation"]
    wait_until(new_one_serves, "settings that work are taken over", 20)
