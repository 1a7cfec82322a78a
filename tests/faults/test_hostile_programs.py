"""Programs that attack: messages to the bridge, signals, process ids that are not theirs, links that change
during a request. They harm only themselves; everybody else is answered."""

import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

from harness import processes, programs
from harness.bridge import BUILD
from harness.processes import kill_quietly, wait_until

NOBODY = 65534
AS_NOBODY = processes.as_user(NOBODY)

# The messages of bridge/message/wire.h, right and wrong.
MESSAGES = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "message/wire.h"

static ssize_t say(int fd, unsigned type, const void* body, unsigned bytes, int passed) {
  char packet[9000] = {0};
  struct message_header head = {MESSAGE_MAGIC, MESSAGE_VERSION, (unsigned short)type, bytes};
  memcpy(packet, &head, sizeof head);
  memcpy(packet + sizeof head, body, bytes);
  struct iovec part = {packet, sizeof head + bytes};
  char control[CMSG_SPACE(sizeof(int))] = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &passed, sizeof passed);
  }
  return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
"""

JUNK = MESSAGES + r"""
static void junk(int fd, const char* kind) {
  char zeros[9000] = {0};
  struct message_ready ready = {(int)getppid(), 0};
  struct message_done done = {.request_id = 1, .stays = 1};
  struct message_checkpoint checkpoint = {LEVEL_COMPILED, 1, RESET_NONE, 0};
  struct message_retired retired = {RETIRED_CALL, 0};
  struct message_note note = {NOTE_SHALLOWER, 0};
  if (!strcmp(kind, "zeros")) write(fd, zeros, sizeof zeros);
  if (!strcmp(kind, "short")) write(fd, "BIGC", 4);
  if (!strcmp(kind, "empty")) say(fd, 99, "", 0, -1), send(fd, "", 0, MSG_NOSIGNAL);
  if (!strcmp(kind, "ready")) say(fd, MESSAGE_READY, &ready, sizeof ready, -1);
  if (!strcmp(kind, "done")) say(fd, MESSAGE_DONE, &done, sizeof done, -1);
  if (!strcmp(kind, "checkpoint")) say(fd, MESSAGE_CHECKPOINT, &checkpoint, sizeof checkpoint, -1);
  if (!strcmp(kind, "retired")) say(fd, MESSAGE_RETIRED, &retired, sizeof retired, -1);
  if (!strcmp(kind, "passing")) say(fd, MESSAGE_READY, &ready, sizeof ready, 1);
  if (!strcmp(kind, "notes"))
    for (int i = 0; i < 3000; i++) say(fd, MESSAGE_NOTE, &note, sizeof note, -1);
  if (!strcmp(kind, "flood"))
    for (int i = 0; i < 3000; i++) say(fd, MESSAGE_NOTE, &note, sizeof note, 1);
}
int main(void) {
  const char* kind = getenv("QUERY_STRING");
  for (int fd = 3; fd < 1024; fd++) junk(fd, kind);
  printf("Content-Type: text/plain\n\n%s\n", kind);
  return 0;
}
"""
KINDS = ["zeros", "short", "empty", "ready", "done", "checkpoint", "retired", "passing", "notes", "flood"]

# Claims to be a zygote, and names another process as each worker that it is asked for.
FALSE_ZYGOTE = MESSAGES + r"""
static int channel(void) {
  for (int fd = 3; fd < 1024; fd++) {
    int type = 0;
    socklen_t bytes = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_SEQPACKET) return fd;
  }
  return -1;
}
static int victim(void) {
  int pid = 0;
  FILE* file = fopen("@VICTIM@", "r");
  if (file != NULL && fscanf(file, "%d", &pid) != 1) pid = 0;
  if (file != NULL) fclose(file);
  return pid == -1 ? getpid() : pid;
}
__attribute__((constructor)) static void pose(void) {
  int fd = channel();
  if (fd < 0) return;
  struct message_checkpoint checkpoint = {LEVEL_LINKED, 1, RESET_FORK, 0};
  say(fd, MESSAGE_CHECKPOINT, &checkpoint, sizeof checkpoint, -1);
  for (;;) {
    char packet[1000], control[100];
    struct iovec part = {packet, sizeof packet};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, 0) <= 0) _exit(0);
    struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
    if (rights == NULL) continue;
    int worker = -1;
    memcpy(&worker, CMSG_DATA(rights), sizeof worker);
    struct message_ready ready = {victim(), 0};
    say(worker, MESSAGE_READY, &ready, sizeof ready, -1);
  }
}
int main(void) {
  puts("Content-Type: text/plain\n\nclassic\n");
  return 0;
}
"""
# The folder of message/wire.h.
INCLUDES = f"-I{pathlib.Path(__file__).resolve().parents[2]}/bridge"


@pytest.fixture
def neighbour(site):
    """A program that did nothing wrong; returns a check that it is answered."""
    hello = programs.hello(site, "neighbour")

    def answered(bridge):
        assert bridge.request(hello).body == b"hello\n"
    answered.script = hello
    return answered


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_junk_in_every_descriptor_is_its_writer_s_trouble(site, neighbour, reset):
    attacker = site.c("attacker", JUNK, INCLUDES, "-w")
    bridge = site.start_bridge(f'reset = "{reset}"')
    bridge.allow_log("attacker")
    neighbour(bridge)
    bridge.wait_warm(neighbour.script)
    bridge.request(attacker, query="none")
    bridge.wait_warm(attacker)
    kept = bridge.pid
    for kind in KINDS:
        bridge.wait_idle()
        response = bridge.request(attacker, query=kind)
        # It may lose its own answer, by a 502 or by being ended in the middle of it.
        assert response.status == 502 or response.body in (kind.encode() + b"\n", b""), kind
        neighbour(bridge)
        assert bridge.pid == kept and processes.alive(kept)
    bridge.wait_warm(neighbour.script)


@pytest.mark.parametrize("whom", ["a neighbour's zygote", "the bridge", "itself"])
def test_a_false_zygote_cannot_make_the_bridge_signal_others(site, neighbour, whom):
    """The bridge ends the process group of every worker that it knows, so it believes a pid only from the
    process itself."""
    victim = site.folder / "victim"
    attacker = site.c("attacker", FALSE_ZYGOTE.replace("@VICTIM@", str(victim)), INCLUDES, "-w")
    # Else its zygote would be ended before its first message.
    bridge = site.start_bridge('accept = ["sockets"]\n'
                               'timeouts = { request = "6s", kill_grace = "100ms" }')
    bridge.allow_log("attacker")
    neighbour(bridge)
    bridge.wait_warm(neighbour.script)
    zygote = bridge.program(neighbour.script)["zygote_pid"]
    victim.write_text(str({"a neighbour's zygote": zygote, "the bridge": bridge.pid, "itself": -1}[whom]))
    # Its workers are lost before they are ready, and it runs classic.
    assert bridge.request(attacker).body == b"classic\n\n"
    bridge.expect_log("attacker gen=1: runs classic: its workers die before they are ready", 30)
    assert bridge.request(attacker).body == b"classic\n\n"
    neighbour(bridge)
    assert processes.alive(zygote)
    assert bridge.program(neighbour.script)["zygote_pid"] == zygote


@pytest.mark.parametrize("wrong_user", [False, True])
def test_a_signal_storm_costs_requests_of_its_aim_only(site, neighbour, wrong_user):
    """TERM and USR2 to the bridge are for operators: they end it, by intent or by default."""
    if wrong_user and os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    aim = programs.pid(site, "aim")
    bridge = site.start_bridge()
    bridge.allow_log("aim")
    neighbour(bridge)
    bridge.wait_warm(neighbour.script)
    bridge.request(aim)
    bridge.wait_warm(aim)
    storm = ["HUP", "USR1", "CHLD", "PIPE", "WINCH", "URG"]
    more = ["USR2", "TERM"]
    prefix = AS_NOBODY if wrong_user else []
    for _ in range(5):
        entry = bridge.program(aim)
        others = processes.descendants_of(bridge.pid) if wrong_user else [entry["zygote_pid"]]
        for target, names in [(bridge.pid, storm + (more if wrong_user else []))] + [
                (pid, storm + more) for pid in others if pid and pid > 1]:
            script = "; ".join(f"kill -{name} {target}" for name in names)
            done = subprocess.run([*prefix, "sh", "-c", script], capture_output=True, text=True)
            if wrong_user:
                # Either the signal was not permitted, or the target had ended by itself.
                refused = done.stderr.count("ermitted") + done.stderr.count("No such process")
                assert refused == len(names), done.stderr
        neighbour(bridge)
        assert bridge.request(aim).status == 200
    assert processes.alive(bridge.pid)


# ---- links that change ----

def swap(link, targets, until):
    """Points link to each of targets in turn, each time atomically."""
    other = f"{link}.next"
    turn = 0
    while not until.is_set():
        os.symlink(targets[turn % len(targets)], other)
        os.rename(other, link)
        turn += 1


@pytest.mark.parametrize("part", ["the program", "a folder above it"])
def test_a_link_swapped_in_a_race_runs_nothing_outside_the_roots(site, mode, part):
    """While a link keeps changing, the bridge runs the real path that it has checked, and never follows the
    link again."""
    inside = site.cgi_bin / "inside"
    outside = site.folder / "outside"
    for folder, word in ((inside, "inside"), (outside, "outside")):
        folder.mkdir()
        program = folder / "program"
        program.write_text(f"#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n{word}\\n'\n")
        program.chmod(0o755)
    if part == "the program":
        link, asked = site.cgi_bin / "link", site.cgi_bin / "link"
        targets = [inside / "program", outside / "program"]
    else:
        link, asked = site.cgi_bin / "current", site.cgi_bin / "current" / "program"
        targets = [inside, outside]
    os.symlink(targets[0], link)
    bridge = site.start_bridge(f'mode = "{mode}"')
    bridge.allow_log("outside the roots")
    stop, answers = threading.Event(), {200: set(), 403: set()}
    swapper = threading.Thread(target=swap, args=(str(link), targets, stop))
    swapper.start()
    try:
        # If a link was stable until now, nobody could know that it would change.
        for _ in range(20):
            bridge.request(asked)
        begin = time.monotonic()
        while (took := time.monotonic() - begin) < 3 or (not all(answers.values()) and took < 60):
            response = bridge.request(asked)
            answers.setdefault(response.status, set()).add(response.body)
    finally:
        stop.set()
        swapper.join()
    assert answers[200] == {b"inside\n"} and answers[403]
    assert set(answers) <= {200, 403, 404}


# ---- what looks at a slow program ----

CIRCLE = r"""
#include <stdio.h>
#include <unistd.h>
unsigned char PL_version = 36;
static char interpreter[4096];
void* PL_curinterp = interpreter;
int main(void) {
  char contexts[4096] = {0};
  /* stackinfo: contexts at 8, previous at 16, index at 32; the last of 2^31 contexts. */
  static char stackinfo[64];
  *(void**)(stackinfo + 8) = contexts;
  *(void**)(stackinfo + 16) = stackinfo;
  *(int*)(stackinfo + 32) = 0x7fffffff;
  *(void**)(interpreter + 224) = stackinfo;
  puts("ready");
  fflush(stdout);
  pause();
  return 0;
}
"""


def test_a_stack_without_end_is_not_walked_without_end(site):
    program = site.c("circle", CIRCLE, "-rdynamic", "-w")
    running = subprocess.Popen([str(program)], stdout=subprocess.PIPE)
    try:
        assert running.stdout.readline() == b"ready\n"
        done = subprocess.run([str(BUILD / "bridge" / "cgibridge-stack"), str(running.pid)],
                              capture_output=True, text=True, timeout=60)
        if "ptrace" in done.stderr + done.stdout or "ermitted" in done.stderr + done.stdout:
            pytest.skip("may not look at another process: " + (done.stderr or done.stdout).strip())
        assert re.search("native|pause", done.stdout), done.stdout + done.stderr
    finally:
        kill_quietly(running.pid, signal.SIGKILL)
        running.wait()
        running.stdout.close()


TRACED = r"""
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
static volatile sig_atomic_t came;
static void note(int number) { came = number; }
int main(void) {
  signal(SIGUSR1, note);
  long asked = ptrace(PTRACE_TRACEME, 0, 0, 0);
  raise(SIGUSR1);
  printf("Content-Type: text/plain\n\nasked %ld, came %d\n", asked, came == SIGUSR1);
  return 0;
}
"""


@pytest.mark.parametrize("how", ['mode = "classic"', 'reset = "fork"', 'reset = "rewind"'])
def test_a_program_that_asks_to_be_traced_is_let_go_on(site, how):
    """Then its parent is its tracer, and it stops at each signal until the parent continues it."""
    script = site.c("traced", TRACED)
    bridge = site.start_bridge(f"{how}\n")
    for _ in range(3):
        assert bridge.request(script).body == b"asked 0, came 1\n"
        if "reset" in how:
            bridge.wait_warm(script)
