"""Numbers and names that interpreters make of the process id, in ways of their own: two visitors of one
second get different ones, as from processes of their own, though one worker may answer both."""

import os
import shutil

import pytest

from driver import FILE, LAUNCH_ENV, Warm, adapters_dir, run_plainly

PYTHON, TCLSH = "/usr/bin/python3", "/usr/bin/tclsh8.6"
ASKED = 4
SHELLS = {"bash": ["bash"], "sh": ["sh"], "zsh": ["zsh"], "ksh93": ["ksh93"], "busybox": ["busybox", "sh"]}


def line_of(words, script, needs):
    needs(words[0])
    return [shutil.which(words[0]), *words[1:], script]


def all_differ(warm):
    return len({warm.ask().text for _ in range(ASKED)}) == ASKED


MADE_OF_ID = {
    "a seed": "RANDOM=$$; echo $RANDOM $RANDOM",
    "a seed of a day and the id": "RANDOM=$(( $(date +%j) + $$ )); echo $RANDOM $RANDOM",
    "a seed by another name": "id=$$\nRANDOM=$id\necho $RANDOM $RANDOM",
    "another program's seed": "awk -v s=$$ 'BEGIN { srand(s); print rand() }'",
    "a name": "echo $(date +%j).$$",
    "a sum": "echo \"$0 $$\" | cksum",
    "a file's name": "name=x.$$; echo $name",
}


@pytest.mark.parametrize("kind", MADE_OF_ID)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_s_script_that_makes_something_of_its_id_is_answered_by_forks(folder, needs, shell, kind):
    if "RANDOM" in MADE_OF_ID[kind] and shell == "sh":
        pytest.skip("no RANDOM")
    line = line_of(SHELLS[shell], folder.script("x.sh", MADE_OF_ID[kind] + "\n"), needs)
    with Warm(line, verify=False) as warm:
        assert warm.reset == "fork" and "process id ($$)" in warm.weaker
        assert all_differ(warm)


SOURCED = {
    "by its path": ". LIB/lib.sh",
    "by another word": "if true; then source 'LIB/lib.sh' a; fi",
    "beside the script": ". \"$(dirname \"$0\")/lib.sh\"",
    "beside the script, too": "[ -e / ] && . ${0%/*}/lib.sh || exit 3",
    "by another": "d=${0%/*}\n. $d/other.sh",
}


@pytest.mark.parametrize("how", SOURCED)
@pytest.mark.parametrize("shell", SHELLS)
def test_so_is_one_that_sources_such_a_line(folder, needs, shell, how):
    if "source" in SOURCED[how] and shell == "sh":
        pytest.skip("no source")
    library = folder.script("lib.sh", "id=$(date +%j).$$\n")
    folder.script("other.sh", f". {library}\n")
    text = SOURCED[how].replace("LIB", str(folder.path))
    with Warm(line_of(SHELLS[shell], folder.script("x.sh", f"{text}\necho $id\n"), needs),
              verify=False) as warm:
        assert warm.reset == "fork" and "process id ($$)" in warm.weaker
        assert all_differ(warm) and str(library) in "".join(warm.note(FILE))


def test_files_that_source_each_other_end(folder):
    name = folder.path / "x.sh"
    folder.script("lib.sh", f". {name}\n. {name}\n")
    folder.script("x.sh", f"[ \"$n\" ] && return\nn=1\n. {folder.path}/lib.sh\necho done\n")
    with Warm(["/bin/bash", str(name)]) as warm:
        assert warm.ask().text == "done\n" and warm.reset == "rewind"


def test_a_file_that_changes_all_the_time_begins_no_generation(folder):
    """A script that sources what it writes: the bridge says so to the next zygote."""
    kept = folder.script("kept.sh", "n=1\n")
    line = ["/bin/bash", folder.script("x.sh", f". {kept}\necho n=$((n + 1)) >{kept}\necho $n\n")]
    with Warm(line) as warm:
        assert str(kept) in "".join(warm.note(FILE)) and warm.ask().text == "1\n"
    total = 2166136261  # bridge/message/path_sum.h
    for byte in os.fsencode(kept):
        total = (total ^ byte) * 16777619 % 2**32
    with Warm(line, learn=f"installed restless={total:x}") as warm:
        assert str(kept) not in "".join(warm.note(FILE)) and warm.reset == "rewind"
        assert [warm.ask().text for _ in range(3)] == ["2\n", "3\n", "4\n"] and warm.workers == 1


READS = {"a file": "exec 3<DATA; read -r line <&3; echo \"$line\"", "a whole file": "echo \"$(<DATA)\"",
         "a pipe": "echo \"$(cat DATA)\"", "its input": "cat; :",
         "a file as its input": "while read -r x; do echo $x; done <DATA"}


@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize("shell", ["bash", "zsh", "ksh93"])
def test_what_a_visitor_wrote_steers_nothing(folder, needs, shell, how):
    words = "id=$$ RANDOM=$$ date $$ PROCINFO[\"pid\"]\n"
    data = folder.path / "data"
    data.write_text(words)
    text = READS[how].replace("DATA", str(data))
    with Warm(line_of(SHELLS[shell], folder.script("x.sh", text + "\n"), needs), verify=False) as warm:
        assert warm.reset == "rewind"
        assert {warm.ask(body=words.encode()).text for _ in range(3)} == {words}
        assert warm.workers == 1, warm.retired


@pytest.mark.parametrize("text", ["echo $(( $$ > 0 ))", "kill -0 $$ && echo yes", "echo $(date +%Y)",
                                  "cat /proc/$$/comm", "RANDOM=5; echo $RANDOM",
                                  "name=/nowhere/x.$$; : \"$name\"; echo done"])
def test_other_scripts_keep_their_worker(folder, text):
    line = ["/bin/bash", folder.script("x.sh", text + "\n")]
    plain = run_plainly(line)
    with Warm(line) as warm:
        assert {warm.ask(body=b"$$ date\n").seen() for _ in range(3)} == {plain.seen()}
        assert warm.workers == 1 and warm.reset == "rewind", (warm.weaker, warm.retired)


def test_zsh_s_digests_of_its_functions_are_no_text(folder, needs):
    needs("zsh")
    text = "autoload -Uz add-zsh-hook; add-zsh-hook zshexit bye; bye() { print bye }\n"
    line = [shutil.which("zsh"), folder.script("x.zsh", text)]
    plain = run_plainly(line)
    with Warm(line) as warm:
        assert {warm.ask().seen() for _ in range(3)} == {plain.seen()} and warm.workers == 1, warm.retired


def test_an_operator_may_accept_it(folder):
    with Warm(["/bin/bash", folder.script("x.sh", "RANDOM=$$; echo $RANDOM\n")], accept="pid") as warm:
        assert warm.reset == "rewind" and not all_differ(warm) and warm.workers == 1


@pytest.mark.parametrize("text", ["srand(PROCINFO[\"pid\"]); print rand()",
                                  "print strftime(\"%j\") \".\" PROCINFO[\"pid\"]"])
def test_gawk_s_programs_that_name_their_id(folder, needs, text):
    needs("gawk")
    script = folder.script("x.awk", f"BEGIN {{ {text} }}\n")
    with Warm([shutil.which("gawk"), "-f", script], verify=False) as warm:
        assert warm.reset == "fork" and all_differ(warm)


def tcl(folder, text, level):
    env = {"TCL_LIBRARY": f"{adapters_dir()}/tcl", "CGIBRIDGE_PRELOAD": ""} if level == "compiled" else {}
    return Warm([TCLSH, folder.script("x.tcl", text + "\n")], level=level, verify=False,
                env={**LAUNCH_ENV, **env})


@pytest.mark.parametrize("level", ["linked", "compiled"])
@pytest.mark.parametrize("text", ["puts [expr {srand([pid])}]",
                                  "set seed [expr {[clock seconds] / 86400 ^ [pid]}]\n"
                                  "proc draw {} { expr {rand()} }\nexpr srand($seed); puts [draw]",
                                  "puts [[interp create] eval {expr {srand([pid])}}]"])
def test_a_seed_of_tcl_s_made_of_the_id_is_used_once(folder, needs, text, level):
    needs("tclsh8.6")
    with tcl(folder, text, level) as warm:
        assert all_differ(warm) and warm.workers == ASKED
        assert "srand after asking for its process id" in warm.retired[0][1]


@pytest.mark.parametrize("level", ["linked", "compiled"])
def test_tcl_s_generator_without_the_id_keeps_the_worker(folder, needs, level):
    needs("tclsh8.6")
    text = ("puts [expr {srand(5)}]; puts [expr {[pid] > 0}]\n"
            "foreach f [info commands ::tcl::mathfunc::sr*] { puts [list $f [trace info execution $f]] }\n"
            "puts [catch {expr {srand()}} why]; puts $why; puts [catch {expr {srand(1, 2)}} why]; puts $why\n"
            "puts [catch {expr {srand(\"x\")}} why]; puts $why")
    with tcl(folder, text, level) as warm:
        plain = run_plainly(warm.argv)
        assert {warm.ask().seen() for _ in range(3)} == {plain.seen()}
        # Errors come after the id was asked for.
        assert all("srand after asking" in why for _, why in warm.retired)
    with tcl(folder, "puts [expr {srand(5)}]\nputs [expr {[pid] > 0}]", level) as warm:
        assert len({warm.ask().text for _ in range(3)}) == 1 and warm.workers == 1


def python(folder, text, level):
    script = folder.script("x.py", text + "\n")
    starter = [f"{adapters_dir()}/python/start.py", "--preload="] if level == "compiled" else []
    warm = Warm([PYTHON, *starter, script], level=level, verify=False)
    warm.argv = [PYTHON, script]
    return warm


@pytest.mark.parametrize("level", ["linked", "compiled"])
@pytest.mark.parametrize("text", ["random.seed(time.time() // 86400 + os.getpid()); print(random.random())",
                                  "print(random.Random(f'{os.getpid()}').getrandbits(64))",
                                  "r = random.Random(); r.seed(os.getpid()); print(r.random())"])
def test_a_seed_of_python_s_made_of_the_id_is_used_once(folder, text, level):
    with python(folder, "import os, random, time\n" + text, level) as warm:
        assert all_differ(warm) and warm.workers == ASKED
        assert "random.seed after asking for its process id" in warm.retired[0][1]


@pytest.mark.parametrize("level", ["linked", "compiled"])
def test_python_s_generators_without_the_id_keep_the_worker(folder, level):
    """A temporary file's name asks for the id, and draws from a generator with no seed of the script's."""
    text = ("import random; random.seed(5); print(random.random())\n"
            "import os, tempfile; tempfile.TemporaryFile().close()\n"
            "print(os.getpid() > 0); random.seed(); random.Random(); print(random.Random.seed.__qualname__)")
    with python(folder, text, level) as warm:
        plain = run_plainly(warm.argv)
        assert {warm.ask().seen() for _ in range(3)} == {plain.seen()} and warm.workers == 1, warm.retired


def test_the_modules_of_a_python_that_asks_for_its_id_are_as_ever(folder):
    text = "import os, sys; os.getpid(); print(sorted(sys.modules))\nimport random; random.Random(7)"
    with python(folder, text, "linked") as warm:
        assert warm.ask().stdout == run_plainly(warm.argv).stdout
        assert "random.seed" in warm.retired[0][1]
