// What package initialization may do, chosen by EARLY in the environment of the launch.
package main

import (
	crand "crypto/rand"
	"fmt"
	"hash/maphash"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// As some packages do for themselves.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

//go:linkname fastrand runtime.fastrand
func fastrand() uint32

//go:linkname fastrandn runtime.fastrandn
func fastrandn(most uint32) uint32

//go:linkname fastrand64 runtime.fastrand64
func fastrand64() uint64

var found string

var early = map[string]func(){
	"time":       func() { found = fmt.Sprint(time.Now().IsZero()) },
	"bytes":      func() { crand.Read(make([]byte, 4)) },
	"random":     func() { found = fmt.Sprint(rand.New(rand.NewSource(time.Now().Unix())).Int()) },
	"pid":        func() { found = fmt.Sprint(os.Getpid() > 0) },
	"prints":     func() { fmt.Println("early") },
	"prints raw": func() { println("early") },
	"warns":      func() { fmt.Fprintln(os.Stderr, "early") },
	"writes":     func() { os.WriteFile("/nonexistent/file", nil, 0600) },
	"removes":    func() { os.Remove("/nonexistent/file") },
	"host":       func() { found = os.Getenv("HTTP_HOST") },
	"long":       func() { found = os.Getenv(strings.Repeat("LONG", 100)) },
	"when":       func() { found = fmt.Sprint(time.Now().UnixNano()) },
	"token":      func() { token := make([]byte, 8); crand.Read(token); found = fmt.Sprintf("%x", token) },
	"hash seed":  func() { found = fmt.Sprint(maphash.MakeSeed()) },
	"hash":       func() { var hash maphash.Hash; hash.WriteString("a"); found = fmt.Sprint(hash.Sum64()) },
	"clock":      func() { var now syscall.Timeval; syscall.Gettimeofday(&now); found = fmt.Sprint(now.Nano()) },
	"seconds":    func() { now, _ := syscall.Time(nil); found = fmt.Sprint(now > 0) },
	"ticks":      func() { var times syscall.Tms; ticks, _ := syscall.Times(&times); found = fmt.Sprint(ticks > 0) },
	"tid":        func() { found = fmt.Sprint(syscall.Gettid() > 0) },
	"usage":      func() { var usage syscall.Rusage; found = fmt.Sprint(syscall.Getrusage(0, &usage)) },
	"uptime":     func() { var info syscall.Sysinfo_t; found = fmt.Sprint(syscall.Sysinfo(&info)) },
	"by number":  func() { found = fmt.Sprint(since(1) > 0) },
	"at random":  func() { drawn := make([]byte, 8); random(drawn); found = fmt.Sprintf("%x", drawn) },
	"monotonic":  func() { found = fmt.Sprint(nanotime() > 0) },
	"word":       func() { found = fmt.Sprint(fastrand()) },
	"below":      func() { found = fmt.Sprint(fastrandn(1 << 31)) },
	"two words":  func() { found = fmt.Sprint(fastrand64()) },
	"temporary":  func() { _, err := os.CreateTemp("/nonexistent", "*"); found = fmt.Sprint(err) },
	"many":       func() { found = os.Getenv("HTTP_HOST") + many() },
	"aside":      func() { aside(func() { found = fmt.Sprint(time.Now().IsZero()) }) },
	"aside all":  func() { aside(func() { found = fmt.Sprint(len(os.Environ())) }) },
	"aside host": func() { aside(func() { found = os.Getenv("HTTP_HOST") }) },
	"aside name": func() { aside(func() { found = os.Getenv("SERVER_NAME") + fmt.Sprint(os.LookupEnv("NONE")) }) },
	"aside file": func() { aside(func() { hit() }) },
	"too late":   func() { aside(func() { found = fmt.Sprint(time.Now().IsZero()) }); hit() },
	"left alone": func() { go func() { hit() }() },
	"all":        func() { found = fmt.Sprint(len(os.Environ())) },
	"sets":       func() { os.Setenv("SET", "early"); found = os.Getenv("SET") },
	"unsets":     func() { os.Unsetenv("SERVER_NAME") },
	"timer":      fire,
	"sleeps":     func() { time.Sleep(time.Millisecond) },
	"child":      func() { syscall.ForkExec("/bin/true", []string{"true"}, nil) },
	"folder":     func() { os.Chdir("/usr") },
	"dials":      func() { net.Dial("tcp", "127.0.0.1:1") },
	"listens":    func() { net.Listen("tcp", "127.0.0.1:0") },
	"input":      func() { os.Stdin.Read(make([]byte, 1)) },
	"reads":      func() { text, _ := os.ReadFile("/etc/hostname"); found = string(text) },
	"lists":      func() { entries, _ := os.ReadDir("/etc/apt"); found = fmt.Sprint(len(entries)) },
	"looks":      func() { _, err := os.Stat("/etc/nothing-there"); found = fmt.Sprint(err) },
	"setting":    func() { found = os.Getenv("SERVER_NAME") },
	"goroutine":  func() { go func() { select {} }() },
	"map":        func() { found = fmt.Sprint(different("a", "b", "a")) },
	"collects":   collect,
	"nothing":    func() {},
}

func fire() {
	done := make(chan bool)
	time.AfterFunc(1, func() { done <- true })
	found = fmt.Sprint(<-done)
}

// Until garbage has been collected, and what was in it is gone.
func collect() {
	gone := make(chan bool, 1)
	runtime.SetFinalizer(&[64]int{}, func(*[64]int) { gone <- true })
	for n := 0; n < 3; n++ {
		found = strings.Repeat("f", 5<<20)[:10]
	}
	<-gone
}

// By the numbers of system calls: a clock that counts from the machine's start, and random bytes.
func since(clock uintptr) int64 {
	var now syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func random(bytes []byte) {
	const getrandom = 318
	syscall.RawSyscall(getrandom, uintptr(unsafe.Pointer(&bytes[0])), uintptr(len(bytes)), 0)
}

// What others notice.
func hit() { os.Mkdir(os.Getenv("LOG"), 0700) }

// What another goroutine does, while this one waits.
func aside(do func()) {
	done := make(chan bool)
	go func() { do(); done <- true }()
	<-done
}

// By a map that is on the stack, and draws its seed there.
func different(words ...string) int {
	seen := map[string]bool{}
	for _, word := range words {
		seen[word] = true
	}
	return len(seen)
}

// One after another, with what they leave.
func many() string {
	os.Setenv("SET", "early")
	os.Unsetenv("SERVER_NAME")
	os.Chdir("/usr")
	folder, _ := os.Getwd()
	_, has := os.LookupEnv("SERVER_NAME")
	text, err := exec.Command("/bin/sh", "-c", "echo $SET $SERVER_NAME $HTTP_HOST; pwd").Output()
	fmt.Println("early")
	done := make(chan bool)
	time.AfterFunc(time.Millisecond, func() { done <- true })
	<-done
	return fmt.Sprint(folder, has, string(text), err, len(os.Environ()), os.Getenv("SET"))
}

func init() { early[os.Getenv("EARLY")]() }

func main() { fmt.Println(os.Getenv("EARLY"), found, os.Getenv("QUERY_STRING")) }
