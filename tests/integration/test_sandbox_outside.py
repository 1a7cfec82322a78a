"""A sandboxed program against a process of the same user outside: its attempts change nothing there."""

import ctypes
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import processes
from harness.processes import wait_until
from harness.sandboxes import copy_adapters, landlock_version, needs_namespaces

# A user with no other processes, because some attempts affect everything that a user has.
UID = processes.own_uid()
USER = f"{UID}:{UID}"

WISHES = {
    "all": 'read_only = true, private_tmp = true, network = false, syscalls = ["@cgi"]',
    "read_only": "read_only = true", "private_tmp": "private_tmp = true", "network": "network = false",
    "syscalls": 'syscalls = ["@cgi"]',
}

# Each line of its answer is an attempt, and "done" or why it failed.
HOSTILE = r"""
    #include <errno.h>
    #include <fcntl.h>
    #include <sched.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/ioctl.h>
    #include <sys/ptrace.h>
    #include <sys/resource.h>
    #include <sys/socket.h>
    #include <sys/syscall.h>
    #include <sys/uio.h>
    #include <unistd.h>
    static pid_t victim;
    static void tell(const char *what, long result) {
      printf("%s: %s\n", what, result >= 0 ? "done" : strerrorname_np(errno));
    }
    static void write_of(const char *whose, const char *name, const char *text) {
      char path[80], what[80];
      snprintf(path, sizeof path, "/proc/%s/%s", whose, name);
      snprintf(what, sizeof what, "%s of %s", name, *whose == 's' ? "its own" : "another");
      int fd = open(path, O_WRONLY);
      tell(what, fd < 0 ? fd : write(fd, text, strlen(text)));
      if (fd >= 0) close(fd);
    }
    static void change(pid_t pid, const char *whose) {
      char what[80];
      #define CHANGE(name, ...) (sprintf(what, "%s of %s", name, whose), tell(what, syscall(__VA_ARGS__)))
      int policy = SCHED_BATCH, nice = 15;
      struct sched_param none = {0};
      struct rlimit limit = {0, 0}, now;
      unsigned long processors[16] = {0}, nodes = 1;
      if (pid == victim) {
        CHANGE("limits", SYS_prlimit64, pid, RLIMIT_CORE, NULL, &limit);
        limit.rlim_cur = limit.rlim_max = 0;
        processors[0] = 1;
      } else {
        policy = sched_getscheduler(0);
        nice = getpriority(PRIO_PROCESS, 0);
        getrlimit(RLIMIT_CORE, &limit);
        syscall(SYS_sched_getaffinity, 0, sizeof processors, processors);
      }
      struct { unsigned size, policy; unsigned long flags; int nice; unsigned priority; unsigned long t[3]; }
          scheduling = {48, policy, 0, nice, 0, {0}};
      CHANGE("core limit", SYS_prlimit64, pid, RLIMIT_CORE, &limit, &now);
      CHANGE("CPU limit", SYS_prlimit64, pid, RLIMIT_CPU, &(struct rlimit){100000, 100001}, NULL);
      CHANGE("affinity", SYS_sched_setaffinity, pid, sizeof processors, processors);
      CHANGE("scheduler", SYS_sched_setscheduler, pid, policy, &none);
      CHANGE("parameters", SYS_sched_setparam, pid, &none);
      CHANGE("attributes", SYS_sched_setattr, pid, &scheduling, 0);
      CHANGE("input and output", SYS_ioprio_set, 1, pid, 2 << 13 | 7);
      CHANGE("priority", SYS_setpriority, PRIO_PROCESS, pid, nice);
      CHANGE("moved memory", SYS_migrate_pages, pid, 64l, &nodes, &nodes);
      CHANGE("pages", SYS_move_pages, pid, 0l, NULL, NULL, NULL, 0);
    }
    static void signal_it(void) {
      siginfo_t info = {.si_code = SI_QUEUE};
      union { siginfo_t info; char bytes[128]; } sent = {.info = info};
      int pidfd = syscall(SYS_pidfd_open, victim, 0), pair[2];
      tell("signal: kill", kill(victim, SIGUSR1));
      tell("signal: group", kill(-victim, SIGUSR2));
      tell("signal: tkill", syscall(SYS_tkill, victim, SIGALRM));
      tell("signal: tgkill", syscall(SYS_tgkill, victim, victim, SIGHUP));
      tell("signal: queue", syscall(SYS_rt_sigqueueinfo, victim, SIGINT, &sent));
      tell("signal: queue to thread", syscall(SYS_rt_tgsigqueueinfo, victim, victim, SIGQUIT, &sent));
      tell("signal: pidfd", syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0));
      tell("look: descriptor", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
      close(pidfd);
      /* These say nothing: what arrives counts. */
      for (int i = 0; i < 3; ++i) {
        struct f_owner_ex owner = {i == 1 ? F_OWNER_PGRP : F_OWNER_TID, victim};
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return tell("pair", -1);
        if (i == 2) ioctl(pair[0], FIOSETOWN, &victim);
        else fcntl(pair[0], F_SETOWN_EX, &owner);
        fcntl(pair[0], F_SETSIG, SIGRTMIN + i);
        fcntl(pair[0], F_SETFL, O_ASYNC);
        if (write(pair[1], "x", 1) != 1) return tell("pair", -1);
        close(pair[0]);
        close(pair[1]);
      }
    }
    static void look(void) {
      char byte = 0;
      struct iovec own = {&byte, 1}, theirs = {(void *)&victim, 1};
      char path[64];
      tell("look: write", syscall(SYS_process_vm_writev, victim, &own, 1l, &theirs, 1l, 0l));
      tell("look: compare", syscall(SYS_kcmp, getpid(), victim, 2, 0l, 0l));
      tell("look: trace", ptrace(PTRACE_SEIZE, victim, NULL, NULL));
      snprintf(path, sizeof path, "/proc/%d/root/etc/passwd", victim);
      tell("look: root", access(path, R_OK));
    }
    int main(void) {
      printf("Content-Type: text/plain\n\n");
      victim = atoi(getenv("VICTIM"));
      if (victim <= 1) return 1;
      change(victim, "another");
      tell("group's priority of another", setpriority(PRIO_PGRP, victim, 16));
      tell("group's input of another", syscall(SYS_ioprio_set, 2, victim, 2 << 13 | 6));
      if (getuid() != 0) {
        tell("user's priority of another", setpriority(PRIO_USER, getuid(), 17));
        tell("user's input of another", syscall(SYS_ioprio_set, 3, getuid(), 2 << 13 | 6));
      }
      write_of(getenv("VICTIM"), "oom_score_adj", "500");
      write_of(getenv("VICTIM"), "coredump_filter", "0x1");
      signal_it();
      look();
      change(0, "its own");
      write_of("self", "oom_score_adj", "500");
      int limited = prlimit(getpid(), RLIMIT_CORE, &(struct rlimit){0, 0}, NULL);
      tell("limit by its own number", limited);
    }
    """


def read_of(pid, name):
    return pathlib.Path(f"/proc/{pid}/{name}").read_text()


def state_of(pid):
    """Everything about a process that another could change."""
    status = read_of(pid, "status")
    return {
        "signals": {int(bits, 16) for bits in re.findall(r"(?:Sig|Shd)Pnd:\s*(\w+)", status)} - {0},
        "traced": re.search(r"TracerPid:\s*(\d+)", status).group(1),
        "limits": read_of(pid, "limits"),
        "priority": os.getpriority(os.PRIO_PROCESS, pid),
        "affinity": os.sched_getaffinity(pid),
        "scheduler": os.sched_getscheduler(pid),
        "input and output": ctypes.CDLL(None).syscall(252, 1, pid),
        "oom_score_adj": read_of(pid, "oom_score_adj"),
        "coredump_filter": read_of(pid, "coredump_filter"),
    }


class Victim:
    """A process that blocks every signal, so that those that arrive can be seen."""

    def __init__(self, user):
        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

        prefix = processes.as_user(UID) if user else []
        self.process = subprocess.Popen([*prefix, "sleep", "600"], preexec_fn=block, start_new_session=True)
        self.pid = self.process.pid
        wait_until(lambda: read_of(self.pid, "comm") == "sleep\n", "the victim sleeps")
        self.before = self.state()

    def state(self):
        return {"alive": self.process.poll() is None} | state_of(self.pid)

    def changed(self):
        now = self.state()
        return {key for key, value in self.before.items() if now[key] != value}

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def victim_of():
    victims = []

    def start(user):
        victims.append(Victim(user))
        return victims[-1]

    yield start
    for victim in victims:
        victim.end()


def answers(response):
    assert response.status == 200, response
    return dict(line.rsplit(": ", 1) for line in response.body.decode().splitlines() if ": " in line)


def start(site, wishes, settings="", user=USER):
    sandbox = f"sandbox = {{ {wishes} }}\n" if wishes else ""
    return site.start_bridge(f'user = "{user}"\n{settings}\n{sandbox}',
                             bridge=f'adapters = "{copy_adapters(site)}"\n')


def settings_of(mode):
    reset = 'reset = "rewind"\n' if mode == "persistent" else ""
    return f'mode = "{mode}"\n{reset}workers = {{ max = 1, spare = 1 }}'


def each_turn(bridge, script, mode, **more):
    """The answers of a freshly started process, and of a warm one that was rewound."""
    yield bridge.request(script, **more)
    if mode == "classic":
        return
    entry = bridge.wait_warm(script)
    assert entry["level"] != "none", entry["level_reason"]
    for _ in range(2):
        yield bridge.request(script, **more)
    entry = bridge.program(script)
    assert entry["reset"] == "rewind" and entry["requests_persistent"] >= 2, entry


def hostile(site):
    return site.c("hostile", HOSTILE, "-D_GNU_SOURCE")


@pytest.mark.root
class TestOutside:
    def test_without_a_sandbox_the_attempts_are_real(self, site, victim_of):
        victim = victim_of(USER)
        bridge = start(site, "", f'mode = "classic"\nenv = {{ VICTIM = "{victim.pid}" }}')
        answer = answers(bridge.request(hostile(site)))
        real = {key for key, value in answer.items() if value == "done"}
        missed = {key for key in answer if key not in real and not re.search("pages|memory|look", key)}
        assert not missed, answer
        assert victim.changed() >= {"signals", "limits", "priority", "scheduler", "input and output",
                                    "oom_score_adj", "coredump_filter"}

    @pytest.mark.parametrize("wish, user", [(wish, USER) for wish in WISHES] + [("all", "")])
    def test_a_process_of_the_same_user_is_out_of_reach(self, site, mode, wish, user, victim_of):
        if wish != "syscalls":
            needs_namespaces()
        victim = victim_of(user)
        script = hostile(site)
        bridge = start(site, WISHES[wish], settings_of(mode) + f'\nenv = {{ VICTIM = "{victim.pid}" }}', user)
        may_change = {"signals"} if landlock_version() < 6 else set()
        if wish not in ("all", "read_only"):
            may_change |= {"oom_score_adj", "coredump_filter"}
        for response in each_turn(bridge, script, mode):
            answer = answers(response)
            assert answer.pop("limits of another") == "done", "reading them is nothing bad"
            assert answer.pop("limit by its own number") == "EPERM"
            for what, result in answer.items():
                if re.match(r"oom|coredump", what):
                    assert result == "EROFS" if wish in ("all", "read_only") else "done", (what, answer)
                elif what.startswith("signal:"):
                    assert result == "EPERM" or landlock_version() < 6, (what, answer)
                elif what.startswith("look:"):
                    assert result in ("EPERM", "EACCES") or landlock_version() < 1, (what, answer)
                elif what.endswith("of another"):
                    assert result == "EPERM", (what, answer)
                elif not re.match("pages|moved memory", what):
                    assert result == "done", (what, answer)
        assert victim.changed() <= may_change, victim.state()

    def test_a_bridge_of_the_same_user_is_out_of_reach(self, site, mode):
        """As its systemd unit starts it: without root, the same user runs the bridge and its programs."""
        needs_namespaces(*processes.as_user(UID))
        if landlock_version() < 6:
            pytest.skip("Landlock does not rule signals here")
        os.chown(site.folder, UID, UID)
        script = hostile(site)
        defaults = f'{settings_of(mode)}\nsandbox = {{ {WISHES["all"]} }}\n'
        bridge = site.prepare_bridge(defaults, bridge=f'adapters = "{copy_adapters(site)}"\n')
        bridge.start(processes.as_user(UID))
        before = state_of(bridge.pid)
        for response in each_turn(bridge, script, mode, VICTIM=str(bridge.pid)):
            answer = answers(response)
            assert answer["core limit of its own"] == answer.pop("limits of another") == "done"
            tried = {value for key, value in answer.items() if re.search("of another|signal:", key)}
            assert tried <= {"EPERM", "EROFS", "ESRCH"}, answer   # ESRCH: it need not lead a group
        # The death of a child may still be on its way to it.
        wait_until(lambda: state_of(bridge.pid) == before, "the bridge is as it was")

    def test_proc_can_be_given_back_but_not_the_machines_settings(self, site, mode):
        needs_namespaces()
        script = site.python("careful", """
            print("Content-Type: text/plain\\n")
            for name in ("/proc/self/oom_score_adj", "/proc/sys/kernel/core_pattern"):
                try:
                    open(name, "r+").close()
                    print(f"{name}: done")
                except OSError as error:
                    print(f"{name}: {error.errno}")
            """)
        bridge = start(site, 'read_only = true, write = ["/proc"]', settings_of(mode), "")
        for response in each_turn(bridge, script, mode):
            answer = answers(response)
            assert answer["/proc/self/oom_score_adj"] == "done", answer
            assert answer["/proc/sys/kernel/core_pattern"] != "done", answer


FAMILIES = """
    import errno, socket
    print("Content-Type: text/plain\\n")
    def tell(what, act):
        try:
            print(f"{what}: {act()}")
        except socket.gaierror as error:
            print(f"{what}: no such name")
        except OSError as error:
            print(f"{what}: {errno.errorcode[error.errno]}")
    def refused(*of):
        try:
            socket.socket(*of).close()
        except OSError as error:
            return error.errno == errno.EAFNOSUPPORT
    def through_loopback():
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()
        return "done"
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)
    print("families:", *(n for n in range(64) if not all(refused(n, kind) for kind in kinds)))
    for protocol in (0, 4, 9, 15):
        tell(f"netlink {protocol}", lambda: socket.socket(16, socket.SOCK_RAW, protocol).close())
    tell("pair", lambda: [one.close() for one in socket.socketpair()])
    tell("vsock pair", lambda: socket.socketpair(40, socket.SOCK_STREAM))
    tell("loopback", through_loopback)
    tell("localhost", lambda: socket.gethostbyname("localhost"))
    tell("number", lambda: socket.getaddrinfo("127.0.0.1", 80)[0][4][0])
    tell("elsewhere", lambda: socket.getaddrinfo("name.invalid", 80))
    """


@pytest.mark.root
class TestWithoutANetwork:
    @pytest.mark.parametrize("wish", ["all", "network"])
    def test_there_are_sockets_of_those_families_alone_that_a_namespace_holds(self, site, mode, wish):
        needs_namespaces()
        script = site.python("families", FAMILIES)
        for response in each_turn(start(site, WISHES[wish], settings_of(mode)), script, mode):
            answer = answers(response)
            hosts = pathlib.Path("/etc/hosts")
            if hosts.exists() and "localhost" in hosts.read_text():
                assert answer["localhost"] == "127.0.0.1", answer
            del answer["localhost"]
            assert answer.pop("families") in ("1 2 10 16", "1 2 16"), answer
            for protocol in (4, 9, 15):
                assert answer.pop(f"netlink {protocol}") == "EPROTONOSUPPORT"
            assert answer == {"netlink 0": "None", "pair": "[None, None]", "vsock pair": "EAFNOSUPPORT",
                              "loopback": "done", "number": "127.0.0.1", "elsewhere": "no such name"}
