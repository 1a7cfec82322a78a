"""Java programs in persistent mode: a source file with a first line; classes and an archive."""

import os
import re
import subprocess

import pytest

JAVAC, JAR = "/usr/bin/javac", "/usr/bin/jar"
pytestmark = pytest.mark.skipif(not os.path.exists(JAVAC), reason="no javac")

HELLO = """
import java.util.*;
public class Hello {
  static int count;
  public static void main(String[] words) throws Exception {
    String query = System.getenv("QUERY_STRING");
    System.out.print("Content-Type: text/plain\\r\\n\\r\\n" + ++count + " " + query
        + " "
        + Arrays.toString(words) + " " + System.getProperty("user.dir") + " " + System.getProperty("size"));
    System.out.println(" " + new String(System.in.readAllBytes()).length());
    if (query.equals("exit")) System.exit(3);
    if (query.equals("throw")) throw new IllegalStateException("told");
    System.setProperty("size", "left");
  }
}
"""
WAYS = ["source", "env -S", "sh, class", "sh, jar", "bash, class"]


def compiled(folder):
    """Hello as a class, and in an archive, in a folder outside of the roots."""
    folder.mkdir()
    (folder / "Hello.java").write_text(HELLO)
    subprocess.run([JAVAC, "-d", folder, folder / "Hello.java"], check=True)
    subprocess.run([JAR, "cfe", folder / "hello.jar", "Hello", "-C", folder, "Hello.class"], check=True)
    return folder


def program(site, way):
    if way == "source":
        return site.script("x", "#!/usr/bin/java --source 17" + HELLO)
    folder = compiled(site.folder / "classes")
    if way == "env -S":
        return site.script("x", f"#!/usr/bin/env -S java -Dsize=7 -cp {folder} Hello\n")
    shell = "/bin/bash" if way.startswith("bash") else "/bin/sh"
    what = f"-jar {folder}/hello.jar own" if "jar" in way else f"-Xmx64m -cp {folder} Hello"
    return site.script("x", f'#!{shell}\nexec java {what} "$@"\n')


REQUESTS = [{}, {"query": "a=b"}, {"query": "one+two"}, {"query": "exit"}, {"query": "throw"},
            {"method": "POST", "body": b"x" * 100_000}]


# How it is launched and how it is put back know nothing of each other: each way with one, and two with both.
CASES = [*((way, "rewind") for way in WAYS), ("source", "fork"), ("sh, jar", "fork")]


@pytest.mark.parametrize("way, reset", CASES)
def test_answers_as_in_classic(site, way, reset):
    if way == "source" and not re.search(r'version "(17|2\d)', subprocess.run(
            ["java", "-version"], capture_output=True, text=True).stderr):
        pytest.skip("this java is too old or too new for --source 17")
    script = program(site, way)
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"',
                               programs='[[program]]\nname = "x"\nmatch = "*"\n')
    bridge.allow_log("told")
    bridge.allow_log("at Hello.main")
    site.cgibridge("mode", "x", "classic", "--config", bridge.config)
    classic = [seen(bridge.request(script, **request)) for request in REQUESTS]
    site.cgibridge("mode", "x", "persistent", "--config", bridge.config)
    bridge.request(script)
    entry = bridge.wait_warm(script, 60)
    assert entry["level"] == "booted"
    for _ in range(2):
        assert [seen(bridge.request(script, **request)) for request in REQUESTS] == classic
    assert bridge.program(script)["arms"][reset]["requests"] >= 2 * len(REQUESTS)


def seen(answer):
    return answer.status, answer.body, answer.app_status


def test_a_change_of_a_class_is_noticed(site):
    script = program(site, "sh, class")
    bridge = site.start_bridge('mode = "persistent"')
    bridge.request(script)
    bridge.wait_warm(script, 60)
    source = site.folder / "classes" / "Hello.java"
    source.write_text(HELLO.replace("++count", "++count + \"new\""))
    subprocess.run([JAVAC, "-d", source.parent, source], check=True)
    assert bridge.request(script).body.startswith(b"1new")


def test_a_program_that_does_not_start_says_why(site):
    script = site.script("x", "#!/bin/sh\nexec java -cp /nowhere Missing\n")
    bridge = site.start_bridge('mode = "persistent"')
    bridge.allow_log("Missing|Caused by|started by itself|classic|502|ended|exit")
    for _ in range(3):
        assert bridge.request(script).app_status == 1
    assert "ClassNotFoundException: Missing" in bridge.log()
