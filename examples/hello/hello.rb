#!/usr/bin/ruby
# The smallest CGI program.
puts "Content-Type: text/plain\r\n\r\nHello, world!"
