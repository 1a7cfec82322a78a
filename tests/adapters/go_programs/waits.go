// Calls into which no signal of this library's may come, one a request, as DEED says: those of Go itself.
package main

import (
	"fmt"
	"io"
	_ "net" // which is linked with libc where that is allowed
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

const much = 1 << 20

func pair() (one, other int) {
	both, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		panic(err)
	}
	return both[0], both[1]
}

// Whether what is done takes its time.
func timed(what func() (int, error)) {
	start := time.Now()
	count, err := what()
	fmt.Println(count, err, time.Since(start) > 290*time.Millisecond)
}

func limit(socket, option int) int {
	syscall.SetsockoptTimeval(socket, syscall.SOL_SOCKET, option, &syscall.Timeval{Usec: 300000})
	return socket
}

var deeds = map[string]func(){
	"": func() {},
	"writes more than a pipe holds": func() {
		var ends [2]int
		syscall.Pipe(ends[:])
		done := make(chan int64)
		go func() {
			time.Sleep(20 * time.Millisecond)
			count, _ := io.Copy(io.Discard, os.NewFile(uintptr(ends[0]), "pipe"))
			done <- count
		}()
		fmt.Println(syscall.Write(ends[1], make([]byte, much)))
		syscall.Close(ends[1])
		fmt.Println(<-done)
	},
	"prints more than a pipe holds": func() {
		count, err := syscall.Write(1, make([]byte, much))
		fmt.Println(count, err)
	},
	"receives for a time": func() {
		one, _ := pair()
		limit(one, syscall.SO_RCVTIMEO)
		timed(func() (int, error) { return syscall.Read(one, make([]byte, 1)) })
		timed(func() (int, error) {
			count, _, err := syscall.Recvfrom(one, make([]byte, 1), 0)
			return count, err
		})
	},
	"sends for a time": func() {
		one, _ := pair()
		limit(one, syscall.SO_SNDTIMEO)
		timed(func() (int, error) {
			count, err := syscall.Write(one, make([]byte, 8*much))
			return count >> 40, err
		})
	},
	"accepts for a time": func() {
		listener, _ := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		syscall.Bind(listener, &syscall.SockaddrUnix{Name: fmt.Sprintf("@waits %d", os.Getpid())})
		syscall.Listen(listener, 1)
		limit(listener, syscall.SO_RCVTIMEO)
		timed(func() (int, error) {
			count, _, err := syscall.Accept(listener)
			return count, err
		})
	},
	"traces a child": func() {
		runtime.LockOSThread()
		child := exec.Command("/bin/true")
		child.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
		fmt.Println(child.Start())
		var status syscall.WaitStatus
		syscall.Wait4(child.Process.Pid, &status, 0, nil)
		fmt.Println(status.Stopped(), syscall.PtraceCont(child.Process.Pid, 0))
		syscall.Wait4(child.Process.Pid, &status, 0, nil)
		fmt.Println(status.ExitStatus())
	},
	"filters its calls": func() {
		const noNewRights, seccomp, filter = 38, 22, 2
		type step struct {
			code   uint16
			jt, jf uint8
			k      uint32
		}
		allow := step{6, 0, 0, 0x7fff0000}
		program := struct {
			count uint16
			steps *step
		}{1, &allow}
		runtime.LockOSThread()
		syscall.RawSyscall6(syscall.SYS_PRCTL, noNewRights, 1, 0, 0, 0, 0)
		_, _, failure := syscall.RawSyscall(syscall.SYS_PRCTL, seccomp, filter, uintptr(unsafe.Pointer(&program)))
		fmt.Println(failure)
		done := make(chan int)
		go func() { time.Sleep(2 * time.Millisecond); done <- 1 }()
		fmt.Println(<-done)
	},
	"sets the group of all threads": func() { fmt.Println(syscall.Setgid(os.Getgid())) },
}

func main() {
	deeds[os.Getenv("DEED")]()
}
