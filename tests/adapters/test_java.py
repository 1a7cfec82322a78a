"""Java at `booted`: deeds of a program (java/Deeds.java), each compared with a plain process; what a request
gets anew; what keeps a virtual machine from being stopped there."""

import glob
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from driver import FILE, LAUNCH_ENV, REQUEST_ENV, SHALLOWER, WARNING, Zygote, adapters_dir, run_plainly
from harness.compiled import compile_library
from java_programs import JAVA, SOURCES, WAY_IN, WarmJava, compile_java, needs_java, plainly, zygote_argv

pytestmark = needs_java

DEEDS = ["look", "change", "threads", "outlive", "files", "child", "strain", "words", "stderr", "exit",
         "halt", "throw", "throw-else", "exit-else", "hook", "abort", "silent", "hello"]
ADAPTER = SOURCES.parents[2] / "adapters" / "java"
SOURCE = """public class Source {
  static int count;
  public static void main(String[] words) throws Exception {
    String query = System.getenv("QUERY_STRING");
    System.out.println("Content-Type: text/plain\\n\\n" + ++count + query + words.length);
    for (StackTraceElement e : new Throwable().getStackTrace()) {
      if (e.getClassName().equals("Source")) System.out.println(e);
    }
    System.setProperty("left", "x");
    if (query.equals("throw")) throw new IllegalStateException("thrown");
  }
}
"""


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("java")
    folder.chmod(0o755)
    compile_java(folder, "Deeds.java", "Agent.java")
    return str(folder)


@pytest.fixture(scope="module")
def answers(classes):
    return {deed: plainly(deed, "-cp", classes, "Deeds", cwd=classes) for deed in DEEDS}


def asking(query):
    return {**REQUEST_ENV, "QUERY_STRING": query}


def deeds(classes, *switches, **options):
    return WarmJava(*switches, "-cp", classes, "Deeds", cwd=classes, **options)


@pytest.mark.parametrize("reset, tracking, rounds", [("rewind", "auto", 3), ("rewind", "compare", 1),
                                                     ("fork", "auto", 1)])
def test_each_deed_in_any_order(classes, answers, reset, tracking, rounds):
    order = DEEDS * rounds
    random.Random(7).shuffle(order)
    with deeds(classes, reset=reset, tracking=tracking) as warm:
        assert (warm.reset, warm.weaker) == (reset, "")
        for deed in order:
            before = len(warm.retired)
            assert (deed, warm.ask_for(deed, cwd=classes).seen()) == (deed, answers[deed].seen())
            # OpenJDK 25 may collect the objects of its archive, and map memory in the place of that file.
            assert len(warm.retired) == before or deed == "strain", warm.retired
        assert reset == "fork" or warm.workers == 1 + len(warm.retired)


@pytest.mark.parametrize("size", ["512k", "3m", "40m"])
def test_the_stack_has_its_size(classes, size):
    """As deep as in a thread of the launcher's, which depends on what is compiled when."""
    def depth(answer):
        return int(answer.text.split()[-1])
    plain = [depth(plainly("depth", f"-Xss{size}", "-Xint", "-cp", classes, "Deeds")) for _ in range(2)]
    with deeds(classes, f"-Xss{size}", "-Xint") as warm:
        for _ in range(3):
            assert 0.9 * min(plain) < depth(warm.ask_for("depth", cwd=classes)) < 1.1 * max(plain)


def test_what_is_drawn_differs_in_each_request(classes):
    drawn = []
    with deeds(classes, verify=False) as warm:
        workers = [warm.worker() for _ in range(2)]
        for n in range(20):
            answer = workers[n % 2].request(warm.argv, env=asking("drawn"), cwd=classes)
            drawn += answer.text.split("\r\n\r\n")[1].replace("\n", " ; ").split(" ; ")[0].split()
    assert len(drawn) == 20 * 7 and len(set(drawn)) == len(drawn)


def test_seeds_that_the_machine_has_drawn_are_drawn_anew(classes, tmp_path):
    agent = tmp_path / "seeds.so"
    compile_library(SOURCES.parent / "java_seeds.c", agent, f"-I{ADAPTER}")
    drawn = []
    with deeds(classes, f"-agentpath:{agent}") as warm:
        for _ in range(4):
            drawn += warm.ask_for("seeds", cwd=classes).text.split()[2:]
        assert warm.workers == 1
    assert len(drawn) == 8 and len(set(drawn)) == 8


def test_its_own_number_and_time(classes):
    with deeds(classes) as warm:
        for _ in range(3):
            number, now = warm.ask_for("own", cwd=classes).text.split()[-2:]
            assert int(number) == warm.current.pid and abs(int(now) / 1000 - time.time()) < 60


def test_a_source_file_is_compiled_once(folder):
    script = folder.script("Source.java", SOURCE)
    words = ["-XX:TieredStopAtLevel=1", script]
    with WarmJava(*words) as warm:
        assert (warm.reset, warm.weaker) == ("rewind", "")
        for query in ["a", "throw", "b"] * 2:
            answer, plain = warm.ask_for(query), plainly(query, *words)
            assert (answer.stdout, answer.code) == (plain.stdout, plain.code)
            assert (b"thrown" in answer.stderr) == (query == "throw")
        assert warm.workers == 1


@pytest.mark.parametrize("words, variables", [
    (["one"], {}), ([], {"LANG": "de_DE.UTF-8"}), ([], {"LC_ALL": "C.UTF-8"}), ([], {"TZ": "Asia/Tokyo"}),
    ([], {"CLASSPATH": "/"})])
def test_what_java_has_copied_at_its_start(classes, words, variables):
    """Words, and variables that it reads once: the request starts the program anew."""
    env = {**REQUEST_ENV, **variables, "QUERY_STRING": "look" if variables else "words"}
    plain = run_plainly([JAVA, "-cp", classes, "Deeds", *words], env=env, cwd=classes)
    with deeds(classes, verify=False) as warm:
        for _ in range(2):
            answer = warm.ask(*words, env=env, cwd=classes)
            assert answer.seen() == plain.seen()
            assert [kind for kind, _ in answer.notes] == [SHALLOWER]
        assert warm.ask_for("hello", cwd=classes).code == 0


def test_another_folder_starts_the_program_anew(classes, tmp_path):
    """Java asks for its folder once, and begins relative paths with it."""
    with deeds(classes, verify=False) as warm:
        for folder in (tmp_path, "/usr"):
            answer = warm.ask_for("look", cwd=folder)
            assert answer.seen() == plainly("look", "-cp", classes, "Deeds", cwd=folder).seen()
            assert [kind for kind, _ in answer.notes] == [SHALLOWER]
        assert f" {classes} " in warm.ask_for("look", cwd=classes).text


def test_what_it_had_at_the_launch_is_not_copied_anew(classes):
    variables = {"LANG": "C.UTF-8", "TZ": "Asia/Tokyo"}
    env = {**REQUEST_ENV, **variables, "QUERY_STRING": "look"}
    plain = run_plainly([JAVA, "-cp", classes, "Deeds"], env=env, cwd=classes)
    with deeds(classes, env={**LAUNCH_ENV, **variables}) as warm:
        for _ in range(3):
            assert warm.ask(env=env, cwd=classes).seen() == plain.seen()
        assert warm.workers == 1


def test_ahead(classes, answers):
    """Where threads cannot be carried over."""
    with deeds(classes, reset="fork ahead", verify=False) as warm:
        assert warm.threads > 1
        assert warm.ask_for("threads", cwd=classes).seen() == answers["threads"].seen()


def read_until(stream, end):
    said = b""
    while end not in said:
        said += os.read(stream, 4096)
    return said


def test_a_dump_of_threads_on_a_signal(classes):
    with deeds(classes, verify=False) as warm:
        worker = warm.worker()
        stdout, stderr, number = worker.send(warm.argv, env=asking("wait"), cwd=classes)
        read_until(stdout, b"waits\n")
        os.kill(worker.pid, signal.SIGQUIT)
        assert b"Full thread dump" in read_until(stdout, b"JNI global refs")
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.collect(stdout, stderr, number).code == 128 + signal.SIGTERM


def agent_archive(classes):
    manifest = os.path.join(classes, "manifest")
    with open(manifest, "w") as file:
        file.write("Premain-Class: Agent\n")
    archive = os.path.join(classes, "agent.jar")
    subprocess.run(["jar", "cfm", archive, manifest, "-C", classes, "Agent.class"], check=True)
    return archive


def test_an_agent_runs_in_each_request(classes):
    words = [f"-javaagent:{agent_archive(classes)}", "-cp", classes, "Deeds"]
    plain = plainly("hello", *words, cwd=classes)
    assert b"premain hello" in plain.stdout
    with WarmJava(*words, cwd=classes) as warm:
        for _ in range(3):
            assert warm.ask_for("hello", cwd=classes).seen() == plain.seen()


@pytest.mark.parametrize("variables, switches", [
    ({"JDK_JAVA_OPTIONS": "-javaagent:{agent}"}, []),
    ({}, ["-Djava.system.class.loader=Agent"])])
def test_what_runs_before_the_adapter_keeps_it_shallower(classes, variables, switches):
    agent = agent_archive(classes)
    env = {**LAUNCH_ENV, **{name: value.format(agent=agent) for name, value in variables.items()}}
    with deeds(classes, *switches, env=env) as warm:
        assert not warm.stands
        [why] = warm.note(SHALLOWER)
        assert "runs before the program" in why


def test_no_main_is_called_before_the_checkpoint(tmp_path):
    """A tool of the JDK's base module has no class of the program's."""
    words = ["sun.security.tools.keytool.Main", "-genseckey", "-alias", "a", "-keyalg", "AES", "-keysize",
             "128", "-storepass", "secret", "-storetype", "PKCS12", "-keystore", str(tmp_path / "store")]
    with WarmJava(*words) as warm:
        assert not warm.stands and warm.note(SHALLOWER) == ["its main class is the JDK's own"]
    assert not (tmp_path / "store").exists()
    assert plainly("", *words).code == 0 and (tmp_path / "store").exists()


def test_classes_that_are_loaded_ahead(tmp_path):
    """None is initialized before the request, and what is missing or broken fails as it does in classic."""
    tmp_path.chmod(0o755)
    compile_java(tmp_path, "Leads.java")
    (tmp_path / "Leads$Missing.class").unlink()
    cut = tmp_path / "Leads$Cut.class"
    cut.write_bytes(cut.read_bytes()[:-20])
    words = ["-cp", str(tmp_path), "Leads"]
    plain = plainly("", *words)
    assert plain.text.count("is initialized") == 2 and plain.text.count("Error") == 6
    with WarmJava(*words) as warm:
        for _ in range(3):
            assert warm.ask_for("").seen() == plain.seen()


def test_what_is_loaded_ahead_is_noted(tmp_path):
    """A folder of many classes with long names: the list of the checkpoint's files is whole."""
    names = [f"{'Long' * 25}{n}" for n in range(600)]
    text = "".join(f"class {name} {{ static int of() {{ return {n}; }} }}\n" for n, name in enumerate(names))
    main = ("public class Many { public static void main(String[] words) { int sum = 0;\n"
            "%s System.out.println(sum); } }")
    (tmp_path / "Many.java").write_text(text + main % "".join(f"sum += {name}.of();\n" for name in names))
    subprocess.run([f"{JAVA}c", "-d", tmp_path, tmp_path / "Many.java"], check=True)
    with WarmJava("-cp", str(tmp_path), "Many") as warm:
        assert warm.ask_for("").stdout == b"%d\n" % sum(range(600))
        assert warm.note(WARNING) == []
        noted = "".join(warm.note(FILE))
        ahead = [name for name in names if f"{name}.class" in noted]
        assert 20 < len(ahead) < 400


def test_without_helpers(classes, answers):
    argv = [JAVA, WAY_IN[0] + "=bare", WAY_IN[1], "-cp", classes, "Deeds"]
    with Zygote(argv, level="booted", reset="rewind", cwd=classes) as zygote:
        worker = zygote.worker()
        for _ in range(2):
            answer = worker.request([JAVA, "-cp", classes, "Deeds"], cwd=classes,
                                    env=asking("files"))
            assert answer.seen() == answers["files"].seen()


def test_without_the_library(classes, answers):
    argv = zygote_argv("-cp", classes, "Deeds")
    env = asking("hello")
    assert run_plainly(argv, env=env, cwd=classes).seen() == answers["hello"].seen()
    del env["REQUEST_METHOD"]
    assert run_plainly(argv, env=env, cwd=classes).stdout == b""


def test_the_interface_is_the_jdks(tmp_path):
    headers = glob.glob("/usr/lib/jvm/*/include/jvmti.h")
    if not headers:
        pytest.skip("no jvmti.h")
    include = os.path.dirname(headers[0])
    subprocess.run(["cc", "-fsyntax-only", f"-I{include}", f"-I{include}/linux", f"-I{ADAPTER}",
                    SOURCES.parent / "java_vm.c"], check=True)


def test_the_helpers_are_in_the_library():
    library = pathlib.Path(adapters_dir(), "libcgibridge_java.so").read_bytes()
    assert library.count(b"\xca\xfe\xba\xbe") == 2 and b"cgibridge/Closure" in library
