#!/usr/bin/node
// The smallest CGI program.
console.log('Content-Type: text/plain\r\n\r\nHello, world!');
