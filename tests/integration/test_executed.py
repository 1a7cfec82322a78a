"""Programs that execute another one in the middle of their request: a warm worker of that one takes their
place where nobody can tell the difference."""

import concurrent.futures

import pytest

from harness.executed import PROGRAM, WARM, answers, compare, differences, stood_in, warm_up
from harness.processes import wait_until

# What a process is given by the one that executed it.
TARGET = r"""
    use strict; use warnings; use Cwd; use JSON::PP; use POSIX ();
    $| = 1;
    my %seen = (argv => [@ARGV], env => {%ENV}, zero => $0, cwd => getcwd(), umask => umask);
    for my $file (qw(status limits comm)) {
        open my $f, '<', "/proc/self/$file" or next;
        my $wanted = $file ne 'status' ? qr/./
            : qr/^(?:Umask|[UG]id|Groups|Sig(?:Pnd|Blk|Ign)|ShdPnd|Cap|NoNew|Secc)/;
        $seen{$file} = join '', grep { /$wanted/ } <$f>;
    }
    opendir my $fds, '/proc/self/fd'; my $own = fileno $fds;
    my @open = grep { /^\d+$/ && !($_ >= 500 && $_ < 520) } sort readdir $fds;
    $seen{fds} = [grep { readlink "/proc/self/fd/$_" } @open];
    for my $fd (($ENV{HTTP_DEED} // '') =~ /^passes a/ ? (3, 17) : ()) {
        open my $file, '<&=', $fd or next;
        sysread $file, $seen{"read from $fd"}, 5;
    }
    $seen{nice} = getpriority 0, 0;
    $seen{alarm} = alarm 0;
    $seen{body} = do { local $/; defined fileno STDIN ? scalar <STDIN> // '' : undef };
    print "Content-Type: application/json\n\n", JSON::PP->new->canonical->encode(\%seen), "\n";
    print STDERR "a word\n" if $ENV{HTTP_COMPLAIN};
    select undef, undef, undef, 0.2 if ($ENV{HTTP_DEED} // '') eq 'timer';
    kill 9, $$ if $ENV{HTTP_DIE};
    exit 3 if $ENV{HTTP_FAIL};
    """

WRAPPER = r"""
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/prctl.h>
    #include <sys/resource.h>
    #include <sys/stat.h>
    #include <sys/wait.h>
    #include <time.h>
    #include <unistd.h>
    static void nothing(int number) { (void)number; }
    static void *sleep_on(void *unused) { pause(); return unused; }
    static void *end(void *unused) { free(malloc(100000)); return unused; }
    #define DEED(name, ...) if (strcmp(deed, name) == 0) { __VA_ARGS__; }
    int main(int argc, char **argv) {
      const char *deed = getenv("HTTP_DEED");
      char byte;
      static char *many[1500], long_one[70000];
      if (deed == NULL) deed = "";
      setenv("WRAPPED", "by C", 1);
      unsetenv("SERVER_SOFTWARE");
      DEED("reads", (void)!read(0, &byte, 1))
      DEED("chdir", (void)!chdir("/usr"))
      DEED("handles", signal(SIGUSR1, nothing); signal(SIGTERM, nothing))
      DEED("opens", open("/etc/passwd", O_RDONLY | O_CLOEXEC))
      DEED("locks", struct flock all = {.l_type = F_WRLCK};
           int fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600); fcntl(fd, F_SETLK, &all))
      DEED("waits", if (fork() == 0) _exit(0); wait(NULL))
      DEED("setreuid", (void)!setreuid(geteuid(), -1); (void)!setregid(getegid(), -1))
      DEED("stderr", dup2(open("err", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 2))
      DEED("limits back", struct rlimit old, new; getrlimit(RLIMIT_NOFILE, &old); new = old;
           new.rlim_cur = 100;
           setrlimit(RLIMIT_NOFILE, &new); setrlimit(RLIMIT_NOFILE, &old))
      DEED("allocates", memset(malloc(5000000), 1, 5000000))
      DEED("prints", printf("never flushed"))
      DEED("umask", umask(027))
      DEED("ignores as Python does", signal(SIGPIPE, SIG_IGN); signal(SIGXFSZ, SIG_IGN))
      DEED("ignores", signal(SIGUSR2, SIG_IGN))
      DEED("ignores a real-time signal", signal(SIGRTMIN + 3, SIG_IGN))
      DEED("blocks", sigset_t s; sigemptyset(&s); sigaddset(&s, SIGTERM); sigprocmask(SIG_BLOCK, &s, NULL))
      DEED("limits", struct rlimit l = {100, 100}; setrlimit(RLIMIT_NOFILE, &l))
      DEED("nice", (void)!nice(3))
      DEED("passes", (void)!dup(2))
      DEED("passes a file", lseek(open("/etc/passwd", O_RDONLY), 7, SEEK_SET); (void)!dup2(3, 17))
      DEED("passes a pipe", int ends[2]; (void)!pipe(ends); (void)!write(ends[1], "in it", 5); close(ends[1]))
      DEED("passes many", for (int i = 0; i < 8; ++i) (void)!dup(2))
      DEED("passes too many", for (int i = 0; i < 9; ++i) (void)!dup(2))
      DEED("passes high", (void)!fcntl(2, F_DUPFD, 700))
      DEED("alarm", alarm(100))
      DEED("child", if (fork() == 0) { close(0); close(1); close(2); sleep(1); _exit(0); })
      DEED("thread", pthread_t t; pthread_create(&t, NULL, sleep_on, NULL))
      DEED("ended thread", pthread_t t; pthread_create(&t, NULL, end, NULL); pthread_join(t, NULL))
      DEED("ended threads", pthread_t t[20];
           for (int i = 0; i < 20; ++i) pthread_create(&t[i], NULL, end, NULL);
           for (int i = 0; i < 20; ++i) pthread_join(t[i], NULL))
      DEED("ended thread, and one more", pthread_t t; pthread_create(&t, NULL, end, NULL);
           pthread_join(t, NULL); pthread_create(&t, NULL, sleep_on, NULL))
      DEED("closes", close(0))
      DEED("closes stderr", fcntl(2, F_SETFD, FD_CLOEXEC))
      DEED("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
      DEED("shares", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
      DEED("death signal", prctl(PR_SET_PDEATHSIG, SIGUSR1))
      DEED("reaps", prctl(PR_SET_CHILD_SUBREAPER, 1))
      DEED("timer", timer_t t; struct itimerspec soon = {{0, 0}, {0, 100000000}};
           timer_create(CLOCK_MONOTONIC, NULL, &t); timer_settime(t, 0, &soon, NULL))
      DEED("long", memset(long_one, 'x', sizeof long_one - 1); setenv("LONG", long_one, 1))
      DEED("many", for (int i = 0; i < 1400; ++i) many[i] = "word"; execv(TARGET, many))
      DEED("relative", (void)!chdir("/"); execl(TARGET + 1, TARGET + 1, "x", NULL))
      DEED("nowhere", execl("/nowhere", "x", NULL); if (errno != ENOENT) abort())
      DEED("name", execl(TARGET, "another name", "x", NULL))
      DEED("vector", execv(TARGET, argv))
      DEED("environment", char *e[] = {"ONLY=this", "PATH=/bin:/usr/bin", NULL};
           execle(TARGET, "n", "a b", "", NULL, e))
      DEED("nothing", char *e[] = {NULL}; execve(TARGET, argv, e))
      DEED("wild", char *words[] = {"x", (char *)12, NULL};
           if (execv((char *)9, words) == 0 || errno != EFAULT) abort();
           if (execv(TARGET, words) == 0 || errno != EFAULT) abort();
           if (execve(TARGET, argv, (char **)8) == 0 || errno != EFAULT) abort())
      DEED("by perl", execlp("perl", "perl", "-w", TARGET, "one", "two", NULL))
      execl(TARGET, TARGET, argc > 1 ? argv[1] : "none", "last", NULL);
      perror("exec");
      return 1;
    }
    """
HANDED = ["", "reads", "chdir", "handles", "opens", "locks", "waits", "setreuid", "stderr", "limits back",
          "allocates", "prints", "shares", "nowhere", "name", "vector", "environment", "nothing",
          "wild", "timer", "relative", "ended thread", "ended threads", "ignores as Python does",
          "by perl", "long", "many", "passes", "passes a file", "passes a pipe", "passes many"]
EXECUTED = ["umask", "ignores", "ignores a real-time signal", "blocks", "limits", "nice", "passes too many",
            "passes high", "alarm", "child", "thread", "ended thread, and one more", "closes",
            "closes stderr", "no new privileges", "death signal", "reaps"]


@pytest.fixture
def wrapper(site):
    target = site.perl("target", TARGET)
    place = site.folder / "elsewhere"
    place.mkdir()
    target = target.rename(place / "target")
    return site.c("wrapper", WRAPPER, f'-DTARGET="{target}"', "-pthread")


@pytest.mark.parametrize("deed", HANDED)
def test_another_worker_answers_as_the_program_itself_would(site, wrapper, deed):
    bridge = site.start_bridge(WARM, programs=PROGRAM)
    request = {"HTTP_DEED": deed, "method": "POST", "query": "a+b", "body": b"a body"}
    classic = compare(site, bridge, wrapper, **request)
    warm_up(bridge, wrapper, **request)
    before = stood_in(bridge, wrapper)
    for answer in answers(bridge, wrapper, 5, **request):
        assert differences(answer, classic) == {}
    assert stood_in(bridge, wrapper) == before + 5


@pytest.mark.parametrize("deed", EXECUTED)
def test_what_an_execution_would_keep_is_not_lost(site, wrapper, deed):
    bridge = site.start_bridge(WARM, programs=PROGRAM)
    classic = compare(site, bridge, wrapper, HTTP_DEED=deed)
    warm_up(bridge, wrapper)
    before = stood_in(bridge, wrapper)
    for answer in answers(bridge, wrapper, 3, HTTP_DEED=deed):
        assert differences(answer, classic) == {}
    assert stood_in(bridge, wrapper) == before


def test_its_end_is_the_end_of_the_request(site, wrapper):
    bridge = site.start_bridge(WARM)
    warm_up(bridge, wrapper)
    before = stood_in(bridge, wrapper)
    with bridge.connect() as peer:
        answer = peer.request(wrapper, HTTP_FAIL="1", HTTP_COMPLAIN="1")
        assert (answer.status, answer.stderr, answer.app_status) == (200, b"a word\n", 3)
        answer = peer.request(wrapper, HTTP_DIE="1")
        assert (answer.status, answer.app_status) == (200, 128 + 9)
    assert bridge.request(wrapper).status == 200
    assert stood_in(bridge, wrapper) == before + 3
    bridge.expect_log("killed by signal 9")


SLOW = """
    $| = 1;
    print "Content-Type: text/plain\n\n$$\n";
    sleep 60 if ($ENV{QUERY_STRING} // '') eq 'slow';
    """


def slow(site):
    target = site.perl("slow", SLOW).rename(site.folder / "slow")
    return site.c("wrapper", f"""
        #include <unistd.h>
        int main(void) {{ execl("{target}", "slow", "x", (char *)0); return 1; }}""")


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_client_that_leaves_takes_it_along(site):
    bridge = site.start_bridge(WARM)
    script = slow(site)
    warm_up(bridge, script)
    with bridge.connect() as peer:
        peer.start(script, query="slow")
        pid = int(peer.wait_for_output(b"\n\n").split()[-1])
    wait_until(lambda: gone(pid), "the other program goes on")
    assert bridge.request(script).status == 200
    bridge.wait_idle()


def test_its_time_is_that_of_the_request(site):
    bridge = site.start_bridge(WARM + '\ntimeouts = { request = "700ms" }')
    script = slow(site)
    warm_up(bridge, script)
    bridge.allow_log("it is ended|broken off|504")
    with bridge.connect() as peer:
        peer.start(script, query="slow")
        pid = int(peer.wait_for_output(b"\n\n").split()[-1])
        peer.expect_closed()
    wait_until(lambda: gone(pid), "the other program goes on")
    assert bridge.request(script).status == 200


SCRIPTS = {
    "sh": ("#!/bin/sh",
           'here=$(dirname "$0"); export HERE="$here"; test -n "$QUERY_STRING" && A=1; exec {target} "$@" x'),
    "bash": ("#!/bin/bash",
             'trap "" USR2; trap - USR2; words=(a "$@"); cd /tmp && exec perl -w {target} "${{words[@]}}"'),
    "perl": ("#!/usr/bin/perl", '$ENV{{B}} = $ENV{{QUERY_STRING}}; exec "{target}", "of perl", @ARGV; die'),
    "perl, by a shell": ("#!/usr/bin/perl", 'exec "{target} of; true"; die'),
    "sh, relative": ("#!/bin/sh", 'A=1; cd ../elsewhere; true; exec ./target "$@"'),
    "python": ("#!/usr/bin/python3", 'import os, sys; os.execv("{target}", ["x", *sys.argv[1:]])'),
    "perl, ended threads": ("#!/usr/bin/perl",
                            'use threads; threads->create(sub {{ 1 }})->join for 1 .. 3; exec "{target}"'),
    "python, ended threads": ("#!/usr/bin/python3", "import os, threading\n"
                              "one = threading.Thread(target=lambda: None); one.start(); one.join()\n"
                              'os.execv("{target}", ["x"])'),
    "ruby": ("#!/usr/bin/ruby", 'exec "{target}", "of ruby", *ARGV'),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_that_execute(site, wrapper, name):
    first, line = SCRIPTS[name]
    target = site.folder / "elsewhere" / "target"
    script = site.script("x", f"{first}\n{line.format(target=target)}\n")
    bridge = site.start_bridge(WARM, programs=PROGRAM)
    requests = [{}, {"query": "a+b"}, {"query": "c=d", "HTTP_COOKIE": "e=f"}]
    classic = [compare(site, bridge, script, **request) for request in requests]
    def ask():
        for request, expected in zip(requests, classic):
            for answer in answers(bridge, script, 2, **request):
                assert differences(answer, expected) == {}
    ask()
    warm_up(bridge, script)
    before = stood_in(bridge, script)
    for _ in range(2):
        ask()
    assert stood_in(bridge, script) >= before + 4 * len(requests)


def test_visitors_words_make_no_new_programs(site, wrapper):
    bridge = site.start_bridge(WARM)
    warm_up(bridge, wrapper)
    before = stood_in(bridge, wrapper)
    for number in range(20):
        answer = answers(bridge, wrapper, 1, query=f"word{number}", HTTP_COOKIE=f"a={number}")[0][2]
        assert answer["argv"] == [f"word{number}", "last"] and answer["env"]["HTTP_COOKIE"] == f"a={number}"
    assert stood_in(bridge, wrapper) == before + 20
    rows = [row["path"] for row in bridge.status()["programs"]]
    assert rows == [str(wrapper), f"{wrapper} > {site.folder}/elsewhere/target"]


def test_a_program_has_a_few_others(site):
    targets = [site.perl(f"t{n}", f'print "Content-Type: text/plain\\n\\n{n}\\n"') for n in range(12)]
    script = site.c("x", f"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) {{
          char path[200];
          snprintf(path, sizeof path, "{site.cgi_bin}/t%s", getenv("QUERY_STRING"));
          execl(path, path, (char *)0);
          return 1;
        }}""")
    bridge = site.start_bridge(WARM)
    bridge.request(script, query="0")
    bridge.wait_warm(script)
    for _ in range(3):
        for n in range(len(targets)):
            assert bridge.request(script, query=str(n)).body == f"{n}\n".encode()
    rows = [row for row in bridge.status()["programs"] if " > " in row["path"]]
    assert len(rows) == 8 and all(row["requests"] > 0 for row in rows)
    bridge.expect_log("executes more than 8 others")


def test_a_change_of_it_is_noticed_at_once(site, wrapper):
    bridge = site.start_bridge(WARM)
    warm_up(bridge, wrapper)
    target = site.folder / "elsewhere" / "target"
    target.write_text("#!/usr/bin/perl\nprint qq(Content-Type: text/plain\\n\\nanother\\n);\n")
    assert bridge.request(wrapper).body == b"another\n"
    target.unlink()
    bridge.allow_log("502")
    answer = bridge.request(wrapper)
    assert answer.status == 502 and b"No such file" in answer.stderr


def test_one_that_executes_in_its_turn(site, wrapper):
    middle = site.c("middle", f"""
        #include <unistd.h>
        int main(int argc, char **argv) {{
          execl("{wrapper}", "outer", argc > 1 ? argv[1] : "none", (char *)0);
          return 1;
        }}""")
    bridge = site.start_bridge(WARM)
    warm_up(bridge, middle, query="w")

    def both_stand_in():
        bridge.request(middle, query="w")
        rows = [row for row in bridge.status()["programs"] if " > " in row["path"]]
        return len(rows) == 2 and all(row["requests"] > 2 for row in rows)
    wait_until(both_stand_in, "the second one is executed itself")
    assert answers(bridge, middle, 1, query="other")[0][2]["argv"] == ["other", "last"]


def test_many_at_once_get_their_own_answers(site, wrapper):
    bridge = site.start_bridge(WARM + "\nworkers = { max = 4 }")
    warm_up(bridge, wrapper)

    def ask(number):
        body = b"b" * number
        answer = answers(bridge, wrapper, 1, method="POST", HTTP_COOKIE=f"w{number}", body=body)[0]
        return answer[0], answer[2]["env"]["HTTP_COOKIE"], answer[2]["body"]
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        for number, answer in enumerate(clients.map(ask, range(400))):
            assert answer == (200, f"w{number}", "b" * number)
    assert stood_in(bridge, wrapper) > 350


# Finds its channel, and speaks there for the library.
FORGER = r"""
    use strict; use warnings; use Socket;
    my ($what) = ($ENV{QUERY_STRING} // '') =~ /^(\w*)$/;
    $| = 1;
    print "Content-Type: text/plain

hello
";
    exit if $what eq '';
    for my $fd (500 .. 520) {
        open my $channel, '+<&=', $fd or next;
        next unless readlink("/proc/self/fd/$fd") =~ /^socket/;
        my $strings = join '', map { "$_\0" } '/', '%s', 'x', 'A=1';
        $strings = substr $strings, 0, -3 if $what eq 'cut';
        for my $id ($what eq 'late' ? 1 : 1 .. 40) {
            my $body = pack('QQQLLLL', $id, 0, 0, 1, 1, length $strings, 0) . $strings;
            send $channel, pack('LSSL', 0x43474942, 6, 12, length $body) . $body, 0;
        }
        select undef, undef, undef, 0.3;
    }
    """


@pytest.mark.parametrize("what", ["cut", "floods", "late"])
def test_a_program_that_speaks_for_the_library(site, wrapper, what):
    target = site.folder / "elsewhere" / "target"
    forger = site.perl("forger", FORGER.replace("%s", str(target)))
    bridge = site.start_bridge(WARM)
    bridge.allow_log("an execute that no worker sends|killed by|broken off")
    bridge.request(forger)
    bridge.wait_warm(forger)
    for _ in range(5):
        bridge.request(forger, query=what)
        assert bridge.request(forger).body == b"hello\n"
    bridge.wait_idle()


# ikiwiki's wrapper does this: the lock is the process's, and its descriptor is passed on.
LOCKER = r"""
    #include <fcntl.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    int main(void) {
      char number[12];
      int fd = open(LOCK, O_RDWR | O_CREAT, 0666);
      if (lockf(fd, F_TLOCK, 0) != 0) { puts("Content-Type: text/plain\n\nbusy"); return 0; }
      sprintf(number, "%d", fd);
      setenv("LOCK_FD", number, 1);
      execl(TARGET, "locked", (char *)0);
      return 1;
    }"""
LOCKED = r"""
    use Fcntl; use POSIX ();
    my ($fd, $deed, @keep) = ($ENV{LOCK_FD}, $ENV{QUERY_STRING});
    sub all { pack 's s x4 q q i x4', $_[0], 0, 0, 0, 0 }
    sub again { open my $f, '+<', '%s' or die; push @keep, $f; $f }
    sub is_free {
        my $pid = fork // die;
        POSIX::_exit(fcntl(again(), F_SETLK, all(F_WRLCK)) ? 1 : 0) if !$pid;
        waitpid $pid, 0; $? >> 8;
    }
    my @free = is_free();
    if ($deed eq 'close') { POSIX::close($fd) }
    if ($deed eq 'fclose') { open my $f, '<&=', $fd; close $f }
    if ($deed eq 'dup2') { POSIX::dup2(2, $fd) }
    if ($deed eq 'another') { close again() }
    if ($deed eq 'unlock') { fcntl again(), F_SETLK, all(F_UNLCK) }
    if ($deed eq 'again') { fcntl again(), F_SETLKW, all(F_WRLCK) }
    if ($deed eq 'child') { waitpid fork || do { POSIX::close($fd); POSIX::_exit 0 }, 0 }
    push @free, is_free();
    print "Content-Type: text/plain\n\n@free\n";
    """
LOCK_DEEDS = ["", "close", "fclose", "dup2", "another", "unlock", "again", "child"]


def locker(site):
    lock = site.folder / "lock"
    target = site.perl("locked", LOCKED.replace("%s", str(lock))).rename(site.folder / "locked")
    return site.c("locker", LOCKER, f'-DLOCK="{lock}"', f'-DTARGET="{target}"')


def test_a_lock_is_held_as_long_as_the_program_itself_would_hold_it(site):
    script = locker(site)
    bridge = site.start_bridge(WARM, programs=PROGRAM)
    classic = {}
    for deed in LOCK_DEEDS:
        site.cgibridge("mode", "x", "classic", "--config", bridge.config)
        classic[deed] = bridge.request(script, query=deed).body
    assert classic[""] == classic["child"] == classic["again"] == b"0 0\n" and classic["close"] == b"0 1\n"
    site.cgibridge("mode", "x", "persistent", "--config", bridge.config)
    warm_up(bridge, script)
    before = stood_in(bridge, script)
    for deed in 2 * LOCK_DEEDS:
        assert bridge.request(script, query=deed).body == classic[deed], deed
    assert stood_in(bridge, script) == before + 2 * len(LOCK_DEEDS)


def test_a_lock_is_free_again_when_the_answer_is_complete(site):
    script = locker(site)
    bridge = site.start_bridge(WARM + "\nworkers = { min = 3, max = 3 }")
    warm_up(bridge, script)
    for _ in range(100):
        assert bridge.request(script).body == b"0 0\n"
