// guest.cc has what it does.
package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
)

var runs = map[string]int{}

func main() {
	fmt.Print("Content-Type: text/plain\r\n\r\nHello\n")
	for _, word := range os.Args[1:] {
		fmt.Println("word", word)
	}
	variables := os.Environ()
	sort.Strings(variables)
	for _, variable := range variables {
		fmt.Println("variable", variable)
	}
	bodies := make(chan []byte)
	go func() {
		body, _ := io.ReadAll(os.Stdin)
		bodies <- body
	}()
	fmt.Printf("body %s\n", <-bodies)
	runs["this"]++
	fmt.Println("runs", runs["this"])
	if err := os.WriteFile("/data/written", []byte("by the guest"), 0o666); err != nil {
		fmt.Println(err)
	}
	content, _ := os.ReadFile("/data/written")
	fmt.Printf("file %s\n", content)
	fmt.Fprintln(os.Stderr, "told")
	code, _ := strconv.Atoi(os.Getenv("QUERY_STRING"))
	os.Exit(code)
}
