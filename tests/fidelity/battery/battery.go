// The leak battery in Go; battery.h explains it. It is stopped at main.main(), with the goroutines and
// threads that it has there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

type kind struct {
	name, leaksUnder string
	look             func() any
	leave            func()
}

var (
	global   int
	table    = map[string]int{"one": 1}
	list     = []string{"first"}
	counter  int64
	once     sync.Once
	pool     = sync.Pool{New: func() any { return "new" }}
	channel  = make(chan int, 4)
	lock     sync.Mutex
	value    atomic.Value
	heap     [][]byte
	option   = flag.String("option", "as given", "")
	deadline context.Context
	problem  error
)

func limit(which int) syscall.Rlimit {
	var now syscall.Rlimit
	syscall.Getrlimit(which, &now)
	return now
}

func status(word string) string {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, word) {
			return line
		}
	}
	return "none"
}

func prctl(option, argument uintptr) uintptr {
	result, _, _ := syscall.RawSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0)
	return result
}

// The runtime's own descriptors (epoll, its pipe) appear with the first file that waits.
func descriptors() any {
	found := []string{}
	for fd := 0; fd < 64; fd++ {
		target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && !strings.HasPrefix(target, "pipe:") && !strings.HasPrefix(target, "anon_inode:") &&
			!strings.HasPrefix(target, "/proc/") {
			found = append(found, fmt.Sprint(fd, " ", target))
		}
	}
	return found
}

func seconds(which int) int64 {
	var now [4]int64
	syscall.RawSyscall(syscall.SYS_GETITIMER, uintptr(which), uintptr(unsafe.Pointer(&now[0])), 0)
	return now[2]
}

func setSeconds(which int) {
	timer := [4]int64{0, 0, 1000, 0}
	syscall.RawSyscall(syscall.SYS_SETITIMER, uintptr(which), uintptr(unsafe.Pointer(&timer[0])), 0)
}

func leftFile(flags int) *os.File {
	file, _ := os.OpenFile("/etc/group", flags, 0)
	return file
}

var kinds = []kind{
	{"global", "", func() any { return global }, func() { global = 7 }},
	{"table", "", func() any { return table }, func() { table["two"] = 2 }},
	{"list", "", func() any { return list }, func() { list = append(list, "second") }},
	{"counter", "", func() any { return atomic.LoadInt64(&counter) }, func() { atomic.AddInt64(&counter, 1) }},
	{"once", "", func() any { first := false; once.Do(func() { first = true }); return first }, func() { once.Do(func() {}) }},
	{"pool", "", func() any { return pool.Get() }, func() {
		for i := 0; i < 100; i++ {
			pool.Put("used")
		}
	}},
	{"channel", "", func() any { return len(channel) }, func() { channel <- 1 }},
	{"lock", "", func() any {
		free := lock.TryLock()
		if free {
			lock.Unlock()
		}
		return free
	}, func() { lock.TryLock() }},
	{"value", "", func() any { return value.Load() }, func() { value.Store("stored") }},
	{"heap", "", func() any { return len(heap) }, func() { heap = append(heap, make([]byte, 64<<20)) }},
	{"option", "", func() any { return *option }, func() { flag.CommandLine.Parse([]string{"-option", "another"}) }},
	{"context", "", func() any { return deadline == nil }, func() { deadline = context.TODO() }},
	{"error", "", func() any { return problem }, func() { problem = errors.New("left") }},
	{"goroutine", "", func() any { return runtime.NumGoroutine() }, func() {
		go func() { select {} }()
	}},
	{"processors", "", func() any { return runtime.GOMAXPROCS(0) }, func() { runtime.GOMAXPROCS(17) }},
	{"collection", "", func() any { old := debug.SetGCPercent(100); debug.SetGCPercent(old); return old },
		func() { debug.SetGCPercent(33) }},
	{"memory_limit", "", func() any { return debug.SetMemoryLimit(-1) }, func() { debug.SetMemoryLimit(1 << 40) }},
	{"stack_limit", "", func() any { old := debug.SetMaxStack(1 << 29); debug.SetMaxStack(old); return old },
		func() { debug.SetMaxStack(1 << 27) }},
	{"random", "", func() any { return rand.Int63() == rand.New(rand.NewSource(7)).Int63() }, func() { rand.Seed(7) }},
	{"local_time", "", func() any { return time.Local == time.UTC }, func() { time.Local = time.UTC }},
	{"environment", "", func() any { return os.Getenv("LEFT") + os.Getenv("PATH") },
		func() { os.Setenv("LEFT", "1"); os.Unsetenv("PATH") }},
	{"arguments", "", func() any { return len(os.Args) }, func() { os.Args = append(os.Args, "left") }},
	{"standard_error", "", func() any { return os.Stderr.Name() }, func() { os.Stderr = leftFile(os.O_RDONLY) }},
	{"log", "", func() any { return log.Prefix() + fmt.Sprint(log.Flags()) }, func() { log.SetPrefix("left ") }},
	{"working_directory", "", func() any { folder, _ := os.Getwd(); return folder != "/tmp" }, func() { os.Chdir("/tmp") }},
	{"umask", "", func() any { old := syscall.Umask(0); syscall.Umask(old); return old }, func() { syscall.Umask(0077) }},
	{"descriptor", "", descriptors, func() { syscall.Open("/etc/group", 0, 0) }},
	{"descriptor_high", "", func() any { _, err := os.Readlink("/proc/self/fd/50"); return err == nil },
		func() { fd, _ := syscall.Open("/etc/group", 0, 0); syscall.Dup2(fd, 50) }},
	{"standard_closed", "", func() any { return syscall.Fstat(0, &syscall.Stat_t{}) }, func() { syscall.Close(0) }},
	{"limit_of_files", "", func() any { return limit(syscall.RLIMIT_NOFILE) },
		func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 99, Max: 99}) }},
	{"limit_of_cores", "", func() any { return limit(syscall.RLIMIT_CORE) },
		func() { syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 0, Max: 77}) }},
	// Applies only to the calling thread, and main() may go on in another.
	{"nice", "", func() any { now, _ := syscall.Getpriority(0, 0); return now },
		func() {
			runtime.LockOSThread()
			now, _ := syscall.Getpriority(0, 0) // the kernel's number: 20 minus the niceness
			syscall.Setpriority(0, 0, 21-now)
		}},
	{"signal_handled", "", func() any { return signal.Ignored(syscall.SIGUSR1) }, func() {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
		signal.Ignore(syscall.SIGUSR1)
	}},
	{"signals_caught", "", func() any { return status("SigIgn") }, func() { signal.Ignore(syscall.SIGUSR2, syscall.SIGHUP) }},
	{"alarm", "", func() any { return seconds(0) }, func() { setSeconds(0) }},
	{"timer_of_its_time", "", func() any { return seconds(1) }, func() { setSeconds(1) }},
	{"name", "", func() any { return status("Name") }, func() {
		name := []byte("left\x00")
		runtime.LockOSThread()
		os.WriteFile("/proc/self/comm", name[:4], 0)
	}},
	{"dumpable", "", func() any { return prctl(3, 0) }, func() { prctl(4, 0) }},
	{"no_new_privileges", "", func() any { return prctl(39, 0) }, func() { runtime.LockOSThread(); prctl(38, 1) }},
	{"process_group", "", func() any { return syscall.Getpgrp() == os.Getpid() }, func() {
		child := exec.Command("/bin/sleep", "1")
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		child.Start()
		syscall.Setpgid(0, child.Process.Pid)
	}},
	{"child", "", func() any { pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); return fmt.Sprint(pid, err) },
		func() { exec.Command("/bin/sleep", "1").Start() }},
}

func leave(name string) {
	for _, one := range kinds {
		if one.name == name {
			one.leave()
		}
	}
}

func main() {
	query := os.Getenv("QUERY_STRING")
	if strings.HasPrefix(query, "again=") {
		leave(query[len("again="):])
	}
	var answer strings.Builder
	answer.WriteString("Content-Type: text/plain\n\n")
	for _, one := range kinds {
		fmt.Fprintf(&answer, "%s: %v\n", one.name, one.look())
	}
	io.WriteString(os.Stdout, answer.String())
	leave(query)
}
