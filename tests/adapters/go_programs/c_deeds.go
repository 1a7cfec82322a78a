// One deed of a program with C code, named by DEED.
package main

/*
#cgo CFLAGS: -D_GNU_SOURCE
#cgo LDFLAGS: -lm
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern void from_c(int);
extern int compare(void *, void *);
extern void set_limit(void);

static int calls;
static char *kept;
static __thread int of_thread;
static int call(void) { ++of_thread; return ++calls; }
static int thread_calls(void) { return of_thread; }
static void keep(const char *text) { free(kept); kept = strdup(text); }
static const char *is_kept(void) { return kept == NULL ? "" : kept; }

static void say(const char *text, int flushes) { printf("%s\n", text); if (flushes) fflush(stdout); }
static void leave(int code, int raw) { if (raw) _exit(code); exit(code); }
static void at_end(void) { printf("at the end\n"); }
static void register_end(void) { atexit(at_end); }

static void *run(void *number) { from_c((int)(long)number); return number; }
static int run_thrd(void *number) { from_c((int)(long)number); return 0; }
static int limit_thrd(void *unused) { set_limit(); return 0; }
static int limit_of_c11(void) { thrd_t one; int result; return thrd_create(&one, limit_thrd, NULL) == thrd_success && thrd_join(one, &result) == thrd_success; }
static int threads(int count) {
	pthread_t all[64];
	long sum = 0;
	for (long i = 0; i < count; ++i) if (pthread_create(&all[i], NULL, run, (void *)i) != 0) return -1;
	for (int i = 0; i < count; ++i) { void *result; pthread_join(all[i], &result); sum += (long)result; }
	return (int)sum;
}
static int thread_of_c11(void) { thrd_t one; int result; return thrd_create(&one, run_thrd, (void *)5L) == thrd_success && thrd_join(one, &result) == thrd_success; }
static void *sleep_long(void *unused) { sleep(100); return unused; }
static void leave_thread(void) { pthread_t one; pthread_create(&one, NULL, sleep_long, NULL); }
static void *masked(void *number) {
	sigset_t all; sigfillset(&all); pthread_sigmask(SIG_SETMASK, &all, NULL);
	from_c((int)(long)number);
	return NULL;
}
static void thread_with_all_masked(void) { pthread_t one; pthread_create(&one, NULL, masked, (void *)7L); pthread_join(one, NULL); }

static int naps(void) {
	struct timespec moment = {0, 20000000}, left = {0, 0};
	int failed = 0;
	errno = 0;
	failed |= nanosleep(&moment, &left);
	failed |= clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, &left) << 1;
	failed |= usleep(20000) << 2;
	failed |= (poll(NULL, 0, 20) < 0) << 3;
	struct timeval interval = {0, 20000};
	failed |= (select(0, NULL, NULL, NULL, &interval) < 0) << 4;
	failed |= (pselect(0, NULL, NULL, NULL, &moment, NULL) < 0) << 5;
	failed |= (ppoll(NULL, 0, &moment, NULL) < 0) << 6;
	sem_t none; sem_init(&none, 0, 0);
	struct timespec until; clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 20000000; if (until.tv_nsec >= 1000000000) { until.tv_nsec -= 1000000000; ++until.tv_sec; }
	failed |= (sem_timedwait(&none, &until) == 0 || errno != ETIMEDOUT) << 7;
	failed |= (thrd_sleep(&moment, NULL) != 0) << 8;
	return failed;
}
static int spin(void) {
	volatile double sum = 0;
	for (int i = 0; i < 3000000; ++i) sum += sqrt(i);
	return sum > 1;
}
static int wait_for_byte(int fd) { char byte = 0; return read(fd, &byte, 1) == 1 ? byte : -errno; }
static int error_is_kept(int fd) { errno = 0; close(-1); from_c(1); return errno; }

static volatile int came;
static void on_signal(int number) { came = number; }
static int own_signals(void) {
	struct sigaction action = {.sa_handler = on_signal}, old;
	sigaction(SIGUSR1, &action, &old);
	raise(SIGUSR1);
	int first = came;
	came = 0;
	sigset_t all, before; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, &before);
	raise(SIGUSR2); from_c(2);
	sigset_t pending; sigpending(&pending);
	int waits = sigismember(&pending, SIGUSR2);
	struct timespec none = {0, 0};
	sigset_t two; sigemptyset(&two); sigaddset(&two, SIGUSR2);
	int got = sigtimedwait(&two, NULL, &none);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return first == SIGUSR1 && waits && got == SIGUSR2;
}
static int trap_signal(void) {
	struct sigaction action = {.sa_handler = on_signal}, old, now;
	sigaction(SIGSYS, NULL, &old);
	int was_ours = old.sa_handler == on_signal;
	sigaction(SIGSYS, &action, NULL);
	raise(SIGSYS);
	int got = came;
	came = 0;
	signal(SIGSYS, SIG_IGN);
	raise(SIGSYS);
	sigaction(SIGSYS, &old, &now);
	return !was_ours && got == SIGSYS && came == 0 && now.sa_handler == SIG_IGN;
}

static void sort(int *numbers, int count) { qsort(numbers, count, sizeof *numbers, (int (*)(const void *, const void *))compare); }
static int child(void) { pid_t pid = fork(); if (pid == 0) _exit(getppid() > 1 ? 9 : 0); int status; waitpid(pid, &status, 0); return WEXITSTATUS(status); }
static int child_that_prints(void) { return system("echo from a child"); }
static void *zeros(void) { char *at = malloc(300000); for (int i = 0; i < 300000; ++i) if (at[i] != 0) break; char *filled = memset(at, 'x', 300000); free(filled); return at; }
static int is_clean(void) { char *at = calloc(1, 5000); int clean = 1; for (int i = 0; i < 5000; ++i) clean &= at[i] == 0; memset(at, 'y', 5000); free(at); return clean; }
static const char *place(void) { setlocale(LC_ALL, ""); return setlocale(LC_ALL, NULL); }
static int loads(void) { void *library = dlopen("libm.so.6", RTLD_NOW); return library != NULL && dlsym(library, "cos") != NULL; }
static long by_number(void) { return syscall(SYS_getppid) > 0 ? syscall(SYS_umask, 0022) : 0; }
static void crash(void) { *(volatile int *)8 = 1; }
static int wide(void) { wchar_t text[8]; return (int)mbstowcs(text, "abc", 8); }
*/
import "C"

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var heard int32
var first = C.call() // counted before main.main()
var answers = make(chan int)

func init() {
	go func() {
		for range answers {
			answers <- int(C.call())
		}
	}()
}

//export from_c
func from_c(number C.int) {
	atomic.AddInt32(&heard, int32(number)+1)
	runtime.Gosched()
}

func open_files() syscall.Rlimit {
	var limit syscall.Rlimit
	syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)), 0, 0)
	return limit
}

//export set_limit
func set_limit() {
	limit := open_files()
	limit.Cur = 77
	syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	syscall.Umask(0127)
}

//export compare
func compare(a, b unsafe.Pointer) C.int { return *(*C.int)(a) - *(*C.int)(b) }

func say(text string, flushes C.int) {
	copied := C.CString(text)
	defer C.free(unsafe.Pointer(copied))
	C.say(copied, flushes)
}

var deeds = map[string]func(){
	"":                             func() {},
	"calls":                        func() { fmt.Println(first, C.call(), C.call(), C.thread_calls() > 0) },
	"keeps":                        func() { fmt.Printf("%q\n", C.GoString(C.is_kept())); C.keep(C.CString("a visitor's")) },
	"prints":                       func() { say("by C", 1) },
	"buffers":                      func() { say("by C, never written", 0) },
	"exits":                        func() { say("by C, written at the end", 0); C.leave(3, 0) },
	"exits at once":                func() { say("by C, lost", 0); C.leave(4, 1) },
	"exits by Go":                  func() { say("by C, lost", 0); os.Exit(5) },
	"registers":                    func() { C.register_end(); say("x", 1); C.leave(6, 0) },
	"registers, by Go":             func() { C.register_end(); say("x", 1); os.Exit(6) },
	"threads":                      func() { fmt.Println(C.threads(12), atomic.LoadInt32(&heard)) },
	"many threads":                 func() { fmt.Println(C.threads(64), atomic.LoadInt32(&heard)) },
	"a thread of C11":              func() { fmt.Println(C.thread_of_c11(), atomic.LoadInt32(&heard)) },
	"a thread that stays":          func() { C.leave_thread(); fmt.Println("left one") },
	"a thread that blocks signals": func() { C.thread_with_all_masked(); fmt.Println(atomic.LoadInt32(&heard)) },
	"exits in another thread": func() {
		runtime.LockOSThread()
		go func() { runtime.LockOSThread(); C.leave(8, 0) }()
		select {}
	},
	"naps":  func() { fmt.Println(C.naps()) },
	"spins": func() { fmt.Println(C.spin()) },
	"spins beside others": func() {
		var all sync.WaitGroup
		for n := 0; n < 6; n++ {
			all.Add(1)
			go func() { defer all.Done(); C.spin(); runtime.Gosched() }()
		}
		all.Wait()
		fmt.Println("all")
	},
	"waits in C for Go": func() {
		read, write, _ := os.Pipe()
		go func() { time.Sleep(10 * time.Millisecond); write.Write([]byte("w")) }()
		fmt.Println(C.wait_for_byte(C.int(read.Fd())))
	},
	"waits in C for Go that computes": func() {
		read, write, _ := os.Pipe()
		runtime.GOMAXPROCS(1)
		go func() { C.spin(); write.Write([]byte("w")) }()
		fmt.Println(C.wait_for_byte(C.int(read.Fd())))
	},
	"errno":   func() { fmt.Println(C.error_is_kept(3)) },
	"signals": func() { fmt.Println(C.own_signals(), atomic.LoadInt32(&heard)) },
	"SIGSYS":  func() { fmt.Println(C.trap_signal()) },
	"sorts": func() {
		numbers := []C.int{5, 3, 9, 1}
		C.sort(&numbers[0], 4)
		fmt.Println(numbers)
	},
	"a child":                        func() { fmt.Println(C.child()) },
	"a child that prints":            func() { fmt.Println(C.child_that_prints()) },
	"memory":                         func() { C.zeros(); fmt.Println(C.is_clean()) },
	"locale":                         func() { fmt.Println(C.GoString(C.place()), C.wide()) },
	"a limit set by a thread of C11": func() { fmt.Println(C.limit_of_c11(), open_files().Cur) },
	"loads":                          func() { fmt.Println(C.loads()) },
	"by number":                      func() { fmt.Println(C.by_number()) },
	"variables": func() {
		name := C.CString("QUERY_STRING")
		fmt.Println(C.GoString(C.getenv(name)), os.Getenv("QUERY_STRING"))
		os.Setenv("LATE", "by Go")
		fmt.Println(C.GoString(C.getenv(C.CString("LATE"))))
		C.setenv(C.CString("LATE"), C.CString("by C"), 1)
		fmt.Println(os.Getenv("LATE"), C.GoString(C.getenv(C.CString("LATE"))))
	},
	"a goroutine of before": func() { answers <- 1; fmt.Println(<-answers) },
	"collects":              func() { runtime.GC(); fmt.Println(C.call()) },
	"body": func() {
		body, err := io.ReadAll(os.Stdin)
		fmt.Println(len(body), err)
	},
	"crashes": func() { C.crash() },
	"panics":  func() { defer fmt.Println(C.call()); panic("in Go") },
}

func main() {
	fmt.Println("call", C.call(), os.Getenv("QUERY_STRING"), open_files().Cur)
	deeds[os.Getenv("DEED")]()
}
