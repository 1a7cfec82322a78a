// hello, written only for FastCGI with Go's own library: it cannot run as CGI.
package main

import (
	"fmt"
	"net/http"
	"net/http/fcgi"
)

func main() {
	fcgi.Serve(nil, http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		answer.Header().Set("Content-Type", "text/plain")
		fmt.Fprintln(answer, "Hello, world!")
	}))
}
