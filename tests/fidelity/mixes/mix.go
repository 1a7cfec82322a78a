// A program that does what its query, a number, says: a random mix of goroutines, timers, channels,
// files and children. Each deed prints what it finds before it changes it; no time, number of a process or
// address is printed. mix.c does the same for C.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"text/template"
	"time"
)

var dice uint64

func roll(sides int) int {
	dice ^= dice << 13
	dice ^= dice >> 7
	dice ^= dice << 17
	return int((dice >> 20) % uint64(sides))
}

var (
	counter  int
	kept     map[string]int
	mutex    sync.Mutex
	once     sync.Once
	total    atomic.Int64
	requests = make(chan int)
	answers  = make(chan int)
	expr     = regexp.MustCompile(`(\d+)-(\w+)`)
	pages    = template.Must(template.New("page").Parse("{{range .}}<{{.}}>{{end}}\n"))
	early    = make(map[string]string)
)

// Initialization starts goroutines, as packages do.
func init() {
	go func() {
		for number := range requests {
			answers <- number * number
		}
	}()
	early["made"] = "before main"
}

func look() {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	folder, _ := os.Getwd()
	var limit syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_CORE, &limit)
	fmt.Printf("look: umask %o folder %s env %q count %d kept %d total %d procs %d early %v\n", mask,
		folder, os.Getenv("MIX"), counter, len(kept), total.Load(), runtime.GOMAXPROCS(0), early)
	file, err := os.Open("/dev/null")
	fmt.Println("look:", file != nil, err, limit.Cur, len(os.Args))
	file.Close()
}

func count()       { fmt.Println("count:", counter); counter++ }
func changeUmask() { fmt.Printf("umask: %o\n", syscall.Umask(roll(0777))) }
func changeFolder() {
	fmt.Println("folder:", os.Chdir([]string{"/", "/tmp", "/usr", "/usr/lib"}[roll(4)]))
}
func changeEnvironment() {
	names := os.Environ()
	sort.Strings(names)
	fmt.Printf("environment: %d %q\n", len(names), os.Getenv("MIX"))
	os.Setenv("MIX", strconv.Itoa(roll(1000)))
	if roll(3) == 0 {
		os.Unsetenv("REQUEST_METHOD")
	}
}

func keep() {
	if kept == nil {
		kept = make(map[string]int)
	}
	kept[strconv.Itoa(roll(10))] += 1 + roll(5)
	early["kept"] = "yes"
	names := make([]string, 0)
	for name, value := range kept {
		names = append(names, fmt.Sprint(name, "=", value))
	}
	sort.Strings(names)
	fmt.Println("kept:", names)
}

func useGoroutines() {
	var group sync.WaitGroup
	sum := 0
	many := 1 + roll(30)
	for i := 0; i < many; i++ {
		number := roll(1000)
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 100; j++ {
				number = (number*31 + j) % 10007
				if j%10 == 0 {
					runtime.Gosched()
				}
			}
			mutex.Lock()
			sum += number
			mutex.Unlock()
			total.Add(int64(number))
		}()
	}
	group.Wait()
	fmt.Println("goroutines:", many, sum, total.Load())
}

func useChannels() {
	var stages []chan int
	for i := 0; i <= 1+roll(5); i++ {
		stages = append(stages, make(chan int, roll(3)))
	}
	for i := 0; i+1 < len(stages); i++ {
		in, out, add := stages[i], stages[i+1], roll(10)
		go func() {
			for number := range in {
				out <- number + add
			}
			close(out)
		}()
	}
	go func(count int) {
		for i := 0; i < count; i++ {
			stages[0] <- i
		}
		close(stages[0])
	}(roll(50))
	sum := 0
	for number := range stages[len(stages)-1] {
		sum += number
	}
	fmt.Println("channels:", len(stages), sum)
}

func askEarly() {
	requests <- roll(100)
	fmt.Println("early:", <-answers)
}

func useTimers() {
	context, cancel := context.WithTimeout(context.Background(), time.Duration(1+roll(3))*time.Millisecond)
	defer cancel()
	ticker := time.NewTicker(200 * time.Microsecond)
	ticks := 0
	for done := false; !done; {
		select {
		case <-ticker.C:
			ticks++
		case <-context.Done():
			done = true
		}
	}
	ticker.Stop()
	fired := make(chan string, 2)
	time.AfterFunc(300*time.Microsecond, func() { fired <- "late" })
	fired <- "at once"
	fmt.Println("timers:", context.Err(), <-fired, <-fired)
}

func sleep() {
	before := time.Now()
	time.Sleep(time.Duration(roll(1500)) * time.Microsecond)
	fmt.Println("sleep:", time.Since(before) >= 0, before.Year() > 2000)
}

func leaveGoroutines() {
	for i := roll(5); i >= 0; i-- {
		go func() { select {} }()
	}
	if roll(3) == 0 {
		go func() {
			for {
				total.Add(0)
			}
		}()
	}
	fmt.Println("left")
}

func leaveThread() {
	locked := make(chan bool)
	go func() {
		runtime.LockOSThread()
		locked <- true
		select {}
	}()
	fmt.Println("thread:", <-locked)
}

func catchSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGWINCH)
	syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	fmt.Println("signal:", <-signals)
	if roll(2) == 0 {
		signal.Stop(signals)
	}
	if roll(3) == 0 {
		signal.Ignore(syscall.SIGHUP)
	}
}

func recoverPanic() {
	defer func() { fmt.Println("recovered:", recover()) }()
	var nothing map[string]int
	switch roll(3) {
	case 0:
		nothing["a"] = 1
	case 1:
		fmt.Println(counter / (counter - counter))
	default:
		panic(errors.New("a panic"))
	}
}

func useMemory() {
	var blocks [][]byte
	for i := 0; i < 30; i++ {
		blocks = append(blocks, bytes.Repeat([]byte{byte(i)}, 1<<roll(17)))
	}
	sum := sha256.Sum256(bytes.Join(blocks, nil))
	fmt.Printf("memory: %x\n", sum[:4])
	if roll(2) == 0 {
		runtime.GC()
	}
	if roll(4) == 0 {
		debug.FreeOSMemory()
	}
}

func useFiles() {
	file, err := os.CreateTemp("", "mix")
	if err != nil {
		fmt.Println("files:", err)
		return
	}
	defer os.Remove(file.Name())
	writer := bufio.NewWriter(file)
	for i := roll(3000); i > 0; i-- {
		fmt.Fprintln(writer, i)
	}
	writer.Flush()
	file.Seek(0, io.SeekStart)
	text, err := io.ReadAll(file)
	fmt.Println("files:", len(text), err, filepath.Ext(file.Name()))
	if roll(2) == 0 {
		file.Close()
	}
}

func runProgram() {
	out, err := exec.Command("sh", "-c", "umask; echo $MIX; pwd; exit "+strconv.Itoa(roll(3))).Output()
	fmt.Printf("program: %q %v\n", out, err)
}

func pipeProgram() {
	command := exec.Command("tr", "a-z", "A-Z")
	command.Stdin = strings.NewReader(strings.Repeat("words ", roll(9000)))
	out, err := command.Output()
	fmt.Println("pipe:", len(out), err)
}

func drawNumbers() {
	var bytes [8]byte
	count, err := rand.Read(bytes[:])
	own := mathrand.New(mathrand.NewSource(int64(roll(100))))
	fmt.Println("numbers:", count, err, own.Intn(1000), mathrand.Intn(10) < 10)
}

func useText() {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	fmt.Fprintf(writer, "%d-word %d", roll(100), roll(100))
	writer.Close()
	reader, _ := gzip.NewReader(&packed)
	text, _ := io.ReadAll(reader)
	value := map[string]any{"text": string(text), "found": expr.FindStringSubmatch(string(text)), "n": counter}
	json.NewEncoder(os.Stdout).Encode(value)
	pages.Execute(os.Stdout, []int{roll(10), counter})
}

func usePipe() {
	left, right := net.Pipe()
	go func() {
		fmt.Fprintf(left, "over the pipe %d\n", counter)
		left.Close()
	}()
	line, err := bufio.NewReader(right).ReadString('\n')
	fmt.Printf("net: %q %v\n", line, err)
}

func useServer() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "served %s %d", r.URL.Path, counter)
	}))
	defer server.Close()
	answer, err := http.Get(server.URL + "/" + strconv.Itoa(roll(100)))
	if err != nil {
		fmt.Println("server:", err)
		return
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	fmt.Printf("server: %d %q %v\n", answer.StatusCode, text, err)
}

func readInput() {
	line, err := bufio.NewReaderSize(os.Stdin, 16).ReadString('\n')
	fmt.Printf("input: %q %v\n", line, err)
}

func useOnce() {
	once.Do(func() { fmt.Println("once") })
	condition := sync.NewCond(&mutex)
	isReady := false
	go func() {
		mutex.Lock()
		isReady = true
		mutex.Unlock()
		condition.Broadcast()
	}()
	mutex.Lock()
	for !isReady {
		condition.Wait()
	}
	mutex.Unlock()
	fmt.Println("condition")
}

func printMuch() {
	writer := bufio.NewWriter(os.Stdout)
	for i := roll(4000); i > 0; i-- {
		fmt.Fprint(writer, i*7919, " ")
	}
	fmt.Fprintln(writer)
	writer.Flush()
}

func setProcs() {
	fmt.Println("procs:", runtime.GOMAXPROCS(1+roll(4)), debug.SetGCPercent(50+roll(100)))
}

var deeds = []func(){look, count, changeUmask, changeFolder, changeEnvironment, keep, useGoroutines, useChannels,
	askEarly, useTimers, sleep, leaveGoroutines, leaveThread, catchSignal, recoverPanic, useMemory, useFiles,
	runProgram, pipeProgram, drawNumbers, useText, usePipe, useServer, readInput, useOnce, printMuch, setProcs,
	askEarly, useGoroutines, useChannels}

func main() {
	seed, _ := strconv.ParseUint(os.Getenv("QUERY_STRING"), 10, 64)
	dice = seed*0x9e3779b97f4a7c15 + 1
	for i := 0; i < 20; i++ {
		roll(2)
	}
	look()
	for left := 2 + roll(7); left > 0; left-- {
		deeds[roll(len(deeds))]()
	}
	fmt.Println("end:", counter, len(kept), os.Getenv("MIX"))
	switch roll(12) {
	case 0:
		os.Exit(roll(100))
	case 1:
		panic("the end")
	case 2:
		go func() { panic(fmt.Sprint("in a goroutine ", counter)) }()
		select {}
	case 3:
		go os.Exit(roll(100))
		select {}
	case 4:
		syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	case 5:
		fmt.Fprintln(os.Stderr, "fatal", counter)
		os.Exit(1)
	case 6:
		syscall.Exec("/bin/echo", []string{"echo", "another program"}, os.Environ())
	case 7:
		var nothing *int
		fmt.Println(*nothing)
	}
}
