"""Go programs at the level `linked`, most of them linked with libc (cgo). Their runtime starts threads in
main(), so each worker is forked before main() and takes only one request. (Deeper: test_go_at_main.py.)"""

import pathlib

import pytest

from driver import REQUEST_ENV, Warm, Zygote, run_plainly
from harness.compiled import compile_go

GO = pathlib.Path("/usr/bin/go")
pytestmark = pytest.mark.skipif(not GO.exists(), reason=f"no {GO}")

PROGRAM = r"""
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sort"
	"sync"
	"time"
)

var called = 1

func main() {
	environment := os.Environ()
	sort.Strings(environment)
	file, err := os.Executable()
	fmt.Println(os.Args, environment, file, err, os.Getpid() > 1, runtime.NumGoroutine())
	body, _ := io.ReadAll(os.Stdin)
	var all sync.WaitGroup
	sums := make([]int, 8)
	for n := range sums {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			for i := 0; i < 100000; i++ {
				sums[n] += i
			}
		}(n)
	}
	all.Wait()
	runtime.GC()
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt)
	process, _ := os.FindProcess(os.Getpid())
	process.Signal(os.Interrupt)
	select {
	case got := <-told:
		fmt.Println("told", got)
	case <-time.After(5 * time.Second):
		fmt.Println("not told")
	}
	text, err := exec.Command("/bin/echo", "child").Output()
	fmt.Println(called, len(body), sums, string(text), err)
	fmt.Fprintln(os.Stderr, "to the log")
	os.Exit(7)
}
"""
CALLS_C = """
package main

// static int calls;
// static int call(void) { return ++calls; }
import "C"

func init() { called = int(C.call()) }
"""


# Goroutines begin with stacks of 2 KiB, and others' stacks and values are below these.
MANY_STACKS = r"""
package main

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
)

func main() {
	var called sync.WaitGroup
	stay, found := make(chan int), make(chan int)
	for n := 0; n < 200; n++ {
		called.Add(1)
		go func(n int) {
			var kept [40]int
			for i := range kept {
				kept[i] = n
			}
			syscall.Getppid()
			called.Done()
			<-stay
			sum := 0
			for _, value := range kept {
				sum += value
			}
			found <- sum
		}(n)
	}
	called.Wait()
	runtime.GC()
	close(stay)
	sum := 0
	for n := 0; n < 200; n++ {
		sum += <-found
	}
	fmt.Println(sum)
}
"""


def build(folder, with_libc=True, flags=(), **sources):
    """Builds a program from these source texts."""
    paths = [folder.script(f"{name}.go", text) for name, text in sources.items()]
    program = str(folder.path / "program")
    compile_go(program, paths, flags, with_libc=with_libc)
    return program


@pytest.fixture
def program(folder):
    return build(folder, main=PROGRAM, c=CALLS_C)


@pytest.mark.parametrize("processors", ["1", "8"])
def test_it_answers_like_plain(program, processors):
    request = {"env": {**REQUEST_ENV, "GOMAXPROCS": processors}, "body": b"body" * 1000}
    plain = run_plainly([program, "word"], **request)
    assert plain.code == 7 and b"told interrupt" in plain.stdout
    with Zygote([program]) as zygote:
        assert (zygote.stands, zygote.threads) == (True, 1)
        for _ in range(25):
            assert zygote.worker().request([program, "word"], **request).seen() == plain.seen()


def test_asked_to_rewind_its_workers_go_and_it_still_answers(program):
    plain = run_plainly([program])
    with Warm([program]) as zygote:
        for _ in range(10):
            assert zygote.ask().seen() == plain.seen()
        assert zygote.workers == 10
        assert {why for why, _ in zygote.retired} <= {"threads"}


def test_a_panic_has_its_code_and_its_words(folder):
    program = build(folder, main='package main\n\nimport "C"\n\nfunc main() { panic("at once") }\n')
    with Zygote([program]) as zygote:
        answer = zygote.worker().request([program])
    assert answer.code == 2 and b"panic: at once" in answer.stderr


@pytest.mark.parametrize("flags", [[], ["-ldflags=-s -w -buildid="]], ids=["as it is", "stripped"])
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_a_static_one_s_calls_leave_small_stacks_alone(folder, reset, flags):
    program = build(folder, with_libc=False, flags=flags, main=MANY_STACKS)
    with Warm([program], reset=reset) as zygote:
        for _ in range(5):
            assert zygote.ask().seen() == (b"796000\n", b"", 0)
