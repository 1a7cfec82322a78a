#!/usr/bin/python3
"""The same hello as real Python programs are: with what a form, a mail and a database need."""
import email.message
import html
import json
import os
import sqlite3
import sys
import urllib.parse

query = urllib.parse.parse_qs(os.environ.get("QUERY_STRING", ""))
name = html.escape(query.get("name", ["world"])[0])
sys.stdout.write(f"Content-Type: text/plain\r\n\r\nHello, {name}!\n")
