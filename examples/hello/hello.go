// The smallest CGI program.
package main

import "os"

func main() {
	os.Stdout.WriteString("Content-Type: text/plain\r\n\r\nHello, world!\n")
}
