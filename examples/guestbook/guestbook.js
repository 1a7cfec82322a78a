#!/usr/bin/node
// A guestbook as a CGI program; README.md has the rules that all languages share.
'use strict';
const fs = require('fs');
const sqlite3 = require('sqlite3');

const BODY_MAX = 16384;
const FIELDS = { name: 100, message: 2000 };  // the maximum bytes of each
const FORM = /^application\/x-www-form-urlencoded(?:[; ]|$)/;
const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
// It fails if two requests create the database at once; then the other one has switched it.
const USE_WAL = 'PRAGMA journal_mode = WAL';
const SCHEMA = `
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
  message TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS entries_by_name ON entries (name);
CREATE INDEX IF NOT EXISTS entries_by_created ON entries (created);
CREATE INDEX IF NOT EXISTS entries_by_name_created ON entries (name, created);
`;
const PAGE = [`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Guestbook</title></head>
<body>
<h1>Guestbook</h1>
<form method="post">
<p><input name="name" required maxlength="100" placeholder="Name"></p>
<p><textarea name="message" required maxlength="2000"></textarea></p>
<p><button>Sign</button></p>
</form>
<ol reversed>
`, `</ol>
</body>
</html>
`];

/** An answer other than the page: its status, and headers that go with it. */
class Refused extends Error {
  constructor(status, headers = '') {
    super(status);
    this.headers = headers;
  }
}

const variable = (name) => process.env[name] || '';
const answer = (head, body = '') => process.stdout.write(`${head}\r\n\r\n${body}`);
const escape = (text) => text.replace(/[&<>"']/g, (found) => ESCAPES[found]);

/** One call of the database's callback style as a promise. */
const ask = (db, method, ...args) => new Promise((done, failed) => {
  db[method](...args, (error, rows) => (error ? failed(error) : done(rows)));
});

const open = (path) => new Promise((done, failed) => {
  const db = new sqlite3.Database(path, (error) => (error ? failed(error) : done(db)));
});

async function listEntries(db) {
  const rows = await ask(db, 'all',
    'SELECT id, name, created, message FROM entries ORDER BY id DESC LIMIT 100');
  const entries = rows.map((row) => `<li value="${row.id}"><b>${escape(row.name)}</b> ` +
    `<time>${escape(row.created)}</time><p>${escape(row.message)}</p></li>\n`);
  answer('Content-Type: text/html; charset=utf-8',
    variable('REQUEST_METHOD') === 'HEAD' ? '' : PAGE.join(entries.join('')));
}

function readBody() {
  const length = variable('CONTENT_LENGTH');
  if (!FORM.test(variable('CONTENT_TYPE')) || !/^[0-9]{1,9}$/.test(length) || length > BODY_MAX) {
    throw new Refused('400 Bad Request');
  }
  const body = Buffer.alloc(Number(length));
  for (let at = 0; at < body.length;) {
    const got = fs.readSync(0, body, at, body.length - at);
    if (got === 0) throw new Refused('400 Bad Request');
    at += got;
  }
  return body.toString('latin1');  // one character per byte
}

const decode = (text) => text.replace(/\+/g, ' ')
  .replace(/%([0-9A-Fa-f]{2})/g, (_, digits) => String.fromCharCode(parseInt(digits, 16)));

// By hand, because URLSearchParams neither splits at both separators nor keeps bytes.
function readForm() {
  const values = new Map();
  for (const pair of readBody().split(/[&;]/)) {
    const [, key, value] = /^([^=]*)=?([^]*)$/.exec(pair);
    if (!values.has(decode(key))) values.set(decode(key), decode(value));
  }
  return Object.entries(FIELDS).map(([key, limit]) => textField(values.get(key) || '', limit));
}

function textField(value, bytesMax) {
  // eslint-disable-next-line no-control-regex
  if (!value || value.length > bytesMax || /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(value)) {
    throw new Refused('400 Bad Request');
  }
  try {
    const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return strict.decode(Buffer.from(value, 'latin1'));
  } catch {
    throw new Refused('400 Bad Request');
  }
}

async function addEntry(db) {
  await ask(db, 'run', 'INSERT INTO entries (name, message) VALUES (?, ?)', readForm());
  answer(`Status: 303 See Other\r\nLocation: ${variable('SCRIPT_NAME')}`);
}

async function main() {
  const method = variable('REQUEST_METHOD');
  if (!['GET', 'HEAD', 'POST'].includes(method)) {
    throw new Refused('405 Method Not Allowed', 'Allow: GET, HEAD, POST\r\n');
  }
  const db = await open(variable('GUESTBOOK_DB') || '/var/lib/guestbook/guestbook.db');
  db.configure('busyTimeout', 5000);
  await ask(db, 'exec', USE_WAL).catch(() => {});
  await ask(db, 'exec', SCHEMA);
  await (method === 'POST' ? addEntry : listEntries)(db);
  await ask(db, 'close');
}

main().catch((error) => {
  let refused = error;
  if (!(error instanceof Refused)) {
    console.error('guestbook:', error.message);
    refused = new Refused('500 Internal Server Error');
  }
  answer(`Status: ${refused.message}\r\n${refused.headers}Content-Type: text/plain; charset=utf-8`,
    `${refused.message}\n`);
});
