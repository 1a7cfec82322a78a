"""Modules that requests load are loaded in advance for the next ones, can be printed as a setting, and can be
pinned."""

import pathlib
import subprocess

import pytest

from harness.processes import wait_until

HEAD = "Content-Type: text/plain\\n\\n"
# A program that prints whether its module was loaded before it asked for it, the module, and a module in its
# own folder.
PROGRAMS = {
    "perl": ("#!/usr/bin/perl\nuse FindBin; use lib $FindBin::Bin;\n"
             "my $there = join ' ', map { exists $INC{$_} ? 1 : 0 } 'Text/Wrap.pm', 'Own.pm';\n"
             f"require Text::Wrap; require Own; print \"{HEAD}$there $Own::word\\n\";\n",
             "Text::Wrap", "Own.pm", "package Own; our $word = 'fine'; 1;\n"),
    "python": ("#!/usr/bin/python3\nimport sys\n"
               "there = '%d %d' % ('decimal' in sys.modules, 'own' in sys.modules)\n"
               f"import decimal, own\nprint('{HEAD}' + there, own.word)\n",
               "decimal", "own.py", "word = 'fine'\n"),
    "tcl": ("#!/usr/bin/tclsh\nset there [expr {[info commands ::http::geturl] ne {}}]\n"
            "package require http; source [file join [file dirname [info script]] own.tcl]\n"
            f"puts \"{HEAD}$there 0 $word\"\n", "http/", "own.tcl", "set word fine\n"),
}


@pytest.fixture(params=PROGRAMS)
def learned(request, site):
    """The program, its module's name, its cold answer, and its answer with the module loaded in advance."""
    text, module, own, own_text = PROGRAMS[request.param]
    (site.cgi_bin / own).write_text(own_text)
    return site.script("program", text), module


def answers(bridge, script, wanted):
    wait_until(lambda: bridge.request(script).body == wanted, f"it answers {wanted}", 20)


def test_what_requests_load_is_loaded_ahead_printed_and_can_be_pinned(site, learned):
    script, module = learned
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    bridge.wait_warm(script)
    answers(bridge, script, b"1 0 fine\n")
    names = bridge.program(script)["learned"]
    assert any(name.startswith(module) for name in names) and not any("wn" in name[:3] for name in names)
    line = [line for line in bridge.command("status").splitlines() if "preload = [" in line][0]
    pinned = line[line.index("preload"):]
    site.rewrite_config(f'mode = "persistent"\nlearn = "none"\n{pinned}\n')
    bridge.hangup()
    wait_until(lambda: bridge.request(script).body == b"1 0 fine\n"
               and bridge.program(script)["learned"] == [], "the list is the settings'", 20)


def test_nothing_is_learned_if_the_list_is_all(site, learned):
    script, _ = learned
    bridge = site.start_bridge('mode = "persistent"\nlearn = "none"')
    bridge.request(script)
    bridge.wait_warm(script)
    assert [bridge.request(script).body for _ in range(10)] == [b"0 0 fine\n"] * 10
    assert bridge.program(script)["learned"] == []


@pytest.mark.parametrize("learned", ["perl", "python"], indirect=True)
def test_the_program_s_own_modules_are_learned_if_asked_for(site, learned):
    script, _ = learned
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"')
    bridge.request(script)
    bridge.wait_warm(script)
    answers(bridge, script, b"1 1 fine\n")


def test_folders_are_told_however_many_there_are(site):
    """More folders than one message can hold."""
    folders = [site.folder / ("x" * 120) / f"{n:03}" for n in range(150)]
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[-1] / "Last.pm").write_text("package Last; 1;\n")
    script = site.script("program", "#!/usr/bin/perl\nuse lib "
                         + ", ".join(f"'{folder}'" for folder in folders) + ";\n"
                         + "my $there = exists $INC{'Last.pm'} ? 1 : 0; require Last;\n"
                         + f"print \"{HEAD}$there\\n\";\n")
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"')
    bridge.request(script)
    bridge.wait_warm(script)
    answers(bridge, script, b"1\n")


# ---- what a visitor would have loaded ----

EVIL = {"perl": ("evil.pm", "open my $f, '>', '{mark}'; 1;\n"),
        "ruby": ("evil.rb", "File.write('{mark}', 'x')\n")}
# Looks up whatever path its visitor names, as a file manager does.
LOOKS = {"perl": ("#!/usr/bin/perl\nuse lib '{folder}';\n"
                  "(my $path = $ENV{{HTTP_X_PATH}} // '') =~ s/%0a/\\n/g;\nmy $to = readlink $path;\n"
                  "require Text::Wrap;\nprint \"{head}\", defined $to ? $to : 'no link', \"\\n\";\n"),
         "ruby": ("#!/usr/bin/ruby\n$LOAD_PATH.unshift '{folder}'\n"
                  "path = ENV['HTTP_X_PATH'].to_s.gsub('%0a', \"\\n\")\n"
                  "to = File.readlink(path) rescue 'no link'\n"
                  "require 'erb'\nputs \"{head}#{{to}}\"\n")}
# Adapters note a loaded module by a readlink() of a special path. The test tries that path's old form, and
# its present form with a wrong secret, with each of these names.
NAMES = ["evil", "..::..::uploads::evil", "/{folder}/evil", "uploads/evil", "evil%0a{folder}/{file}"]


@pytest.mark.parametrize("language", EVIL)
def test_what_a_visitor_has_a_program_look_at_is_never_loaded(site, language):
    file, text = EVIL[language]
    uploads, mark = site.folder / "uploads", site.folder / "evil-ran"
    uploads.mkdir()
    (uploads / file).write_text(text.format(mark=mark))
    script = site.script("look", LOOKS[language].format(folder=uploads, head=HEAD))
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    bridge.wait_warm(script)
    for secret in ("", "0" * 32 + "/"):
        for name in NAMES:
            path = f"/.cgibridge/{secret}note/loaded/" + name.format(folder=uploads, file=file)
            assert bridge.request(script, HTTP_X_PATH=path).body == b"no link\n"
    # What it really loads is learned, so another zygote was made after all of these.
    wait_until(lambda: bridge.program(script)["generation"] > 1 and bridge.program(script)["learned"],
               "a generation with learned modules", 20)
    assert not any("evil" in name for name in bridge.program(script)["learned"])
    assert not mark.exists()


def folder_of_text_wrap():
    done = subprocess.run(["perl", "-MText::Wrap", "-e", "print $INC{'Text/Wrap.pm'}"], capture_output=True,
                          text=True, check=True)
    return pathlib.Path(done.stdout).parents[1]


# Sends to the bridge what only its adapter may send, on the channel that it finds open.
TELLS = r"""#!/usr/bin/perl
use lib '{folder}';
for my $note (split /\|/, $ENV{{HTTP_X_NOTES}} // '') {{
    $note =~ s/%0a/\n/g;
    my $body = pack('LL', 1, length $note) . $note;
    for my $fd (500 .. 520) {{
        open my $channel, '>&', $fd or next;
        send $channel, pack('LSSL', 0x43474942, 6, 7, length $body) . $body, 0;
    }}
}}
print "{head}told\n";
"""


def test_what_a_worker_names_is_believed_only_of_the_interpreter_s_folders(site):
    uploads, mark = site.folder / "uploads", site.folder / "evil-ran"
    uploads.mkdir()
    (uploads / "evil.pm").write_text(EVIL["perl"][1].format(mark=mark))
    script = site.script("tell", TELLS.format(folder=uploads, head=HEAD))
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    bridge.wait_warm(script)
    wrap = folder_of_text_wrap()
    notes = ["evil", f"evil%0a{uploads}/evil.pm", f"..::uploads::evil%0a{uploads}/evil.pm",
             f"evil%0a{wrap}/../..{uploads}/evil.pm", f"evil%0a{wrap}/evil.pm", f"evil%0a{wrap}/Text/Wrap.pm",
             f"Text::Wrap%0a{wrap}/Text/Wrap.pm"]
    assert bridge.request(script, HTTP_X_NOTES="|".join(notes)).body == b"told\n"
    wait_until(lambda: bridge.program(script)["learned"] == ["Text::Wrap"], "the right one is learned", 20)
    bridge.expect_log("evil is not loaded ahead: .*not where its interpreter looks for modules")
    wait_until(lambda: bridge.program(script)["generation"] > 1, "it is loaded ahead", 20)
    assert bridge.request(script).body == b"told\n"
    assert not mark.exists()


MANY = 700
# Each prints how often it was loaded in this process.
MANY_PROGRAMS = {
    "perl": ("#!/usr/bin/perl\nuse FindBin; use lib $FindBin::Bin;\nour $count = 0;\n"
             "my $there = grep /^Many/, keys %%INC;\n"
             "eval \"require Many$_\" or die $@ for 1 .. %d;\nprint \"" + HEAD + "$there $count\\n\";\n",
             lambda n: (f"Many{n}.pm", f"package Many{n}; our $one = 1; 1;\n")),
    "python": ("#!/usr/bin/python3\nimport importlib, sys\n"
               "there = sum(name.startswith('many') for name in sys.modules)\n"
               "for n in range(1, %d + 1): importlib.import_module(f'many{n}')\n"
               "print('" + HEAD + "%%d 0' %% there)\n",
               lambda n: (f"many{n}.py", "one = 1\n")),
}


@pytest.mark.parametrize("language", MANY_PROGRAMS)
def test_hundreds_of_modules_are_loaded_ahead(site, language):
    text, module = MANY_PROGRAMS[language]
    for n in range(1, MANY + 1):
        name, content = module(n)
        (site.cgi_bin / name).write_text(content)
    script = site.script("program", text % MANY)
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"')
    bridge.request(script)
    bridge.wait_warm(script)
    answers(bridge, script, b"%d 0\n" % MANY)
    assert len(bridge.program(script)["learned"]) >= MANY


def test_more_modules_than_can_be_loaded_ahead_are_left_to_the_requests(site):
    text, module = MANY_PROGRAMS["python"]
    for n in range(1, 1101):
        name, content = module(n)
        (site.cgi_bin / name).write_text(content)
    script = site.script("program", text % 1100)
    bridge = site.start_bridge('mode = "persistent"\nlearn = "all"')
    bridge.allow_log("1000 modules are loaded ahead")
    bridge.request(script)
    bridge.wait_warm(script)
    wait_until(lambda: int(bridge.request(script).body.split()[0]) > 950, "nearly all are ahead", 30)
    wait_until(lambda: bridge.request(script).body and len(bridge.program(script)["learned"]) == 1000,
               "as many as can be", 30)
    bridge.expect_log("1000 modules are loaded ahead, and no more: requests load the others")
