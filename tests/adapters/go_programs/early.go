// What package initialization may do, chosen by EARLY in the environment of the launch.
package main

import (
	crand "crypto/rand"
	"fmt"
	"math/rand"
	"net"
	"os"
	"syscall"
	"time"
)

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
	"all":        func() { found = fmt.Sprint(len(os.Environ())) },
	"sets":       func() { os.Setenv("SET", "early") },
	"unsets":     func() { os.Unsetenv("SERVER_NAME") },
	"timer":      func() { time.AfterFunc(time.Hour, func() {}) },
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
	"nothing":    func() {},
}

func init() { early[os.Getenv("EARLY")]() }

func main() { fmt.Println(os.Getenv("EARLY"), found, os.Getenv("QUERY_STRING")) }
