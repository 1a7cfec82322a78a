#!/usr/bin/ruby
# The same hello as Ruby programs really are: with what a form, a page and a mail need.
require 'cgi'
require 'erb'
require 'json'
require 'time'
require 'uri'
require 'yaml'

cgi = CGI.new
name = cgi.params.fetch('name', ['world']).first
print "Content-Type: text/plain\r\n\r\n", ERB.new("Hello, <%= ERB::Util.h(name) %>!\n").result(binding)
