"""Programs whose system calls are handed back, static ones and Go's, and which execute another one."""

import pytest

from harness.compiled import compile_go
from harness.executed import PROGRAM, WARM, answers, compare, differences, stood_in, warm_up
from test_executed import wrapper  # noqa: F401

SCRIPTS = {
    "plain": "A=1; export A; exec {target} $A b",
    "redirected": "exec 2>&1; exec {target} b",
    "after a child": "A=$(echo 5); export A; exec {target} $A",
    "handles": "trap 'echo never' TERM; exec {target} b",
    "ignores": "trap '' USR2; exec {target} b",
    "umask": "umask 027; exec {target} b",
    "limits": "ulimit -n 100; exec {target} b",
    "child": "sleep 1 <&- >&- 2>&- & exec {target} b",
}
HANDED = ["plain", "redirected", "after a child", "handles"]


def is_as_classic(site, script, is_handed, **request):
    bridge = site.start_bridge(WARM, programs=PROGRAM)
    classic = compare(site, bridge, script, **request)
    if is_handed:
        warm_up(bridge, script, **request)
    bridge.request(script, **request)
    for _ in range(4):
        bridge.wait_warm(script)
        before = stood_in(bridge, script)
        assert differences(answers(bridge, script, 1, **request)[0], classic) == {}
        assert stood_in(bridge, script) == before + is_handed


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_static_shell(site, wrapper, name):  # noqa: F811
    line = SCRIPTS[name].format(target=site.folder / "elsewhere" / "target")
    script = site.script("x", f"#!/usr/bin/busybox sh\n{line}\n")
    is_as_classic(site, script, name in HANDED, query="a+b")


GO = r"""
package main

import ("os"; "os/signal"; "syscall"; "time")

func main() {
  os.Setenv("B", os.Getenv("QUERY_STRING"))
  switch os.Getenv("HTTP_DEED") {
  case "folder": os.Chdir("/usr")
  case "open": os.Open("/etc/passwd")
  case "notify": signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
  case "umask": syscall.Umask(027)
  case "ignore": signal.Ignore(syscall.SIGUSR2)
  case "sleeper":
    go func() { syscall.Nanosleep(&syscall.Timespec{Sec: 100}, nil) }()
    time.Sleep(20 * time.Millisecond)
  case "limit": syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 4096, Max: 4096})
  case "nowhere":
    if syscall.Exec("/nowhere", []string{"x"}, nil) != syscall.ENOENT { os.Exit(3) }
  }
  err := syscall.Exec("%s", []string{"x", "of Go"}, os.Environ())
  println(err.Error())
  os.Exit(1)
}
"""
OF_GO = {"": True, "folder": True, "open": True, "notify": None, "umask": False, "ignore": False,
         "sleeper": False, "limit": False, "nowhere": True}


def of_go(site, with_libc):
    source = site.folder / "x.go"
    text = GO.replace("%s", str(site.folder / "elsewhere" / "target"))
    if with_libc:
        text = text.replace("package main\n", 'package main\n\nimport "C"\n', 1)
    source.write_text(text)
    script = site.cgi_bin / "x"
    compile_go(script, [source], with_libc=with_libc)
    return script


def test_threads_are_made_again_while_another_executes_a_program(site, wrapper):  # noqa: F811
    """The kernel refuses new ones then, which happened in some 3 of 100 of these."""
    script = of_go(site, with_libc=True)
    bridge = site.start_bridge(WARM, programs=PROGRAM)
    request = {"HTTP_DEED": "notify", "query": "a=b"}
    classic = compare(site, bridge, script, **request)
    warm_up(bridge, script)
    bridge.wait_warm(script)
    for answer in answers(bridge, script, 150, **request):
        assert differences(answer, classic) == {}


@pytest.mark.parametrize("with_libc", [False, True], ids=["static", "linked"])
def test_go(site, wrapper, with_libc):  # noqa: F811
    script = of_go(site, with_libc)
    bridge = site.start_bridge(WARM, programs=PROGRAM)
    wrong = {}
    for deed, is_handed in OF_GO.items():
        request = {"HTTP_DEED": deed, "query": "a=b"}
        classic = compare(site, bridge, script, **request)
        warm_up(bridge, script, **(request if is_handed else {}))
        # On a busy machine Go's runtime may have made a thread again; then the program is executed really.
        for _ in range(5 if is_handed else 1):
            bridge.wait_warm(script)
            before = stood_in(bridge, script)
            warm = answers(bridge, script, 1, **request)[0]
            count = stood_in(bridge, script) - before
            if count == 1 or differences(warm, classic):
                break
        if differences(warm, classic) or is_handed not in (None, count == 1):
            wrong[deed] = (count, differences(warm, classic))
    assert wrong == {}
