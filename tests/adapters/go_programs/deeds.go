// One deed a request, named by DEED. What it prints, and its end, are compared with a plain process's.
package main

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var calls int
var echo = make(chan int) // answered by a goroutine that package initialization has started
var late atomic32

type atomic32 struct{ value int32 }

func (a *atomic32) set()      { atomic.StoreInt32(&a.value, 1) }
func (a *atomic32) get() bool { return atomic.LoadInt32(&a.value) != 0 }

func init() {
	go func() {
		for number := range echo {
			echo <- number + 1
		}
	}()
	go late.set()
}

func sum(n int) (total int) {
	for i := 0; i < n; i++ {
		total += i % 7
	}
	return
}

func deep(n int) int {
	var room [200]byte
	room[n%200] = byte(n)
	if n == 0 {
		return int(room[0])
	}
	return deep(n-1) + int(room[n%200])%3
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

var deeds = map[string]func(){
	"goroutines": func() {
		var all sync.WaitGroup
		results := make(chan int)
		for i := 0; i < 10; i++ {
			all.Add(1)
			go func() { defer all.Done(); results <- sum(20000) }()
		}
		go func() { all.Wait(); close(results) }()
		total := 0
		for result := range results {
			total += result
		}
		fmt.Println(total)
	},
	"initialized goroutine": func() {
		echo <- 41
		fmt.Println(<-echo)
	},
	"waits in a loop": func() {
		var done atomic32
		go done.set()
		for !done.get() {
		}
		for !late.get() {
		}
		fmt.Println("over")
	},
	"busy": func() {
		var stop atomic32
		ended := make(chan bool)
		for i := 0; i < 3; i++ {
			go func() {
				for !stop.get() {
				}
				ended <- true
			}()
		}
		go stop.set()
		for i := 0; i < 3; i++ {
			<-ended
		}
		fmt.Println("all ended")
	},
	"left behind": func() {
		for i := 0; i < 500; i++ {
			go func() { time.Sleep(time.Hour) }()
		}
		go func() {
			for {
				sum(1000)
			}
		}()
		runtime.Gosched()
		fmt.Println(runtime.NumGoroutine() > 400)
	},
	"garbage": func() {
		var kept [][]byte
		for i := 0; i < 200; i++ {
			block := make([]byte, 64<<10)
			block[i] = 1
			if i%10 == 0 {
				kept = append(kept, block)
			}
		}
		runtime.GC()
		total := 0
		for _, block := range kept {
			total += len(bytes.Trim(block, "\x00"))
		}
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		fmt.Println(total, now.NumGC > 0)
	},
	"memory": func() {
		block := make([]byte, 8<<20)
		for i := range block {
			if block[i] != 0 {
				panic("not empty")
			}
			block[i] = byte(i)
		}
		block = nil
		debug.FreeOSMemory()
		debug.SetGCPercent(50)
		fmt.Println("freed")
	},
	"finalizer": func() {
		told := make(chan bool, 1)
		func() {
			thing := &[100]int{1}
			runtime.SetFinalizer(thing, func(*[100]int) { told <- true })
		}()
		for i := 0; i < 100; i++ {
			runtime.GC()
			select {
			case <-told:
				fmt.Println("finalized")
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	},
	"times": func() {
		begin := time.Now()
		time.Sleep(2 * time.Millisecond)
		ticker := time.NewTicker(time.Millisecond)
		<-ticker.C
		<-ticker.C
		ticker.Stop()
		var rung atomic32
		time.AfterFunc(time.Millisecond, rung.set)
		for !rung.get() {
		}
		ended, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		<-ended.Done()
		cancel()
		took := time.Since(begin)
		fmt.Println(took > 5*time.Millisecond, took < time.Minute, ended.Err())
		fmt.Println(time.Since(begin.Round(0)) < time.Minute)
	},
	"children": func() {
		text, err := exec.Command("/bin/echo", "child").CombinedOutput()
		fmt.Printf("%s %v\n", text, err)
		text, err = exec.Command("/bin/sh", "-c", "echo $QUERY_STRING; cat; exit 3").CombinedOutput()
		fmt.Printf("%s %v\n", text, err)
		piped := exec.Command("/bin/cat")
		piped.Stdin = strings.NewReader("through a pipe")
		text, err = piped.Output()
		fmt.Printf("%s %v\n", text, err)
		_, err = exec.Command("/nonexistent").Output()
		fmt.Println(err)
	},
	"children at once": func() {
		var all sync.WaitGroup
		for i := 0; i < 8; i++ {
			all.Add(1)
			go func() {
				defer all.Done()
				must(exec.Command("/bin/true").Run())
			}()
		}
		all.Wait()
	},
	"itself": func() {
		file, err := os.Executable()
		must(err)
		os.Setenv("DEED", "words")
		must(syscall.Exec(file, []string{"another name"}, os.Environ()))
	},
	"words": func() { fmt.Println(os.Args) },
	"exit elsewhere": func() {
		go func() {
			fmt.Println("leaves")
			os.Exit(3)
		}()
		select {}
	},
	"exit deferred": func() {
		defer os.Exit(4)
		runtime.Goexit()
	},
	"panic":    func() { var none map[string]int; none["a"] = 1 },
	"deadlock": func() { <-make(chan int) },
	"recovered": func() {
		defer func() { fmt.Println(recover() != nil) }()
		var nothing *atomic32
		nothing.set()
	},
	"locked threads": func() {
		runtime.LockOSThread()
		other := make(chan int)
		go func() {
			runtime.LockOSThread()
			other <- syscall.Gettid()
		}()
		fmt.Println(<-other != syscall.Gettid())
	},
	"signals": func() {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGUSR1)
		must(syscall.Kill(os.Getpid(), syscall.SIGUSR1))
		fmt.Println(<-told)
		signal.Ignore(syscall.SIGUSR2)
		must(syscall.Kill(os.Getpid(), syscall.SIGUSR2))
	},
	"dies of a signal": func() { must(syscall.Kill(os.Getpid(), syscall.SIGTERM)); time.Sleep(time.Hour) },
	"connections": func() {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		go func() {
			peer, err := listener.Accept()
			must(err)
			io.Copy(peer, peer)
			peer.Close()
		}()
		peer, err := net.Dial("tcp", listener.Addr().String())
		must(err)
		fmt.Fprint(peer, "there and back")
		peer.(*net.TCPConn).CloseWrite()
		text, err := io.ReadAll(peer)
		fmt.Printf("%s %v\n", text, err)
	},
	"deadline": func() {
		reader, writer, err := os.Pipe()
		must(err)
		must(reader.SetReadDeadline(time.Now().Add(time.Millisecond)))
		_, err = reader.Read(make([]byte, 1))
		fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
		writer.Close()
	},
	"pipe": func() {
		reader, writer, _ := os.Pipe()
		go func() {
			time.Sleep(time.Millisecond)
			writer.Write([]byte("later"))
			writer.Close()
		}()
		text, err := io.ReadAll(reader)
		fmt.Println(string(text), err)
	},
	"stack": func() { fmt.Println(deep(20000)) },
	"environment": func() {
		os.Setenv("ADDED", os.Getenv("QUERY_STRING"))
		os.Unsetenv("PATH")
		all := os.Environ()
		sort.Strings(all)
		_, is := os.LookupEnv("PATH")
		fmt.Println(strings.Join(all, "|"), os.Getenv("ADDED"), is, os.ExpandEnv("$REQUEST_METHOD"))
		os.Clearenv()
		fmt.Println(len(os.Environ()))
	},
	"process": func() {
		os.Chdir("/usr")
		syscall.Umask(077)
		var limit syscall.Rlimit
		syscall.Getrlimit(syscall.RLIMIT_CORE, &limit)
		limit.Cur = 0
		syscall.Setrlimit(syscall.RLIMIT_CORE, &limit)
		syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
		folder, err := os.Getwd()
		fmt.Println(folder, err, limit.Cur > 0, runtime.GOMAXPROCS(3), runtime.NumCPU())
		file, err := os.Open("/etc/passwd")
		fmt.Println(file.Fd(), err)
	},
	"mutexes": func() {
		var lock sync.Mutex
		var all sync.WaitGroup
		total := 0
		for i := 0; i < 8; i++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for n := 0; n < 1000; n++ {
					lock.Lock()
					total++
					lock.Unlock()
				}
			}()
		}
		all.Wait()
		fmt.Println(total)
	},
	"long answer": func() { fmt.Println(strings.Repeat("x", 1<<20)) },
	"body slowly": func() {
		ticks := 0
		stop, stopped := make(chan bool), make(chan bool)
		go func() {
			for {
				select {
				case <-stop:
					stopped <- true
					return
				case <-time.After(100 * time.Microsecond):
					ticks++
				}
			}
		}()
		text, err := io.ReadAll(os.Stdin)
		stop <- true
		<-stopped
		fmt.Println(len(text), err, ticks >= 0)
	},
	"draws": func() {
		bytes := make([]byte, 8)
		crand.Read(bytes)
		order := map[int]bool{}
		for i := 0; i < 30; i++ {
			order[i] = true
		}
		keys := ""
		for key := range order {
			keys += fmt.Sprint(key, ",")
		}
		file, err := os.CreateTemp("", "")
		must(err)
		os.Remove(file.Name())
		source := rand.New(rand.NewSource(7)).Int63() // as always
		elsewhere := make(chan int64)
		go func() { elsewhere <- rand.Int63() }()
		fmt.Printf("%d|%x|%s|%s|%d|%d\n", rand.Int63(), bytes, keys, file.Name(), <-elsewhere, source)
	},
	"timer by number": func() {
		for turn := 0; turn < 2; turn++ {
			number := new(int32)
			_, _, err := syscall.RawSyscall(syscall.SYS_TIMER_CREATE, 1, 0, uintptr(unsafe.Pointer(number)))
			fmt.Println(err)
			time.Sleep(3 * time.Millisecond)
		}
	},
	"age": func() { fmt.Println(time.Now()) },
	"":    func() {},
}

func main() {
	calls++
	fmt.Printf("call %d %s %s\n", calls, os.Getenv("QUERY_STRING"), os.Args[1:])
	deeds[os.Getenv("DEED")]()
}
