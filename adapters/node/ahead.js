// What is loaded before the checkpoint: Node's own modules that the program names, and what the operator
// asks for (`preload`). Nothing of the program runs; only its text is read, so a module that is named but
// not used costs a little memory.
'use strict';
const fs = require('fs');
const { builtinModules, createRequire } = require('module');
const path = require('path');
const { rehearse, settle } = require('./rehearsal.js');

const { defineProperty, getOwnPropertyDescriptor } = Object;

const kNames = /(?:\brequire\s*\(|\bimport\s*\(|\bfrom\b|\bimport\b)\s*(['"])([^'"\n]{1,200})\1/g;
// Those that do something when they are loaded, or are experimental and print a warning.
const kNever = new Set(['cluster', 'inspector', 'inspector/promises', 'repl', 'test', 'sys', 'punycode',
                        'wasi', 'trace_events', 'domain', 'sqlite', 'sea']);
// The streams of a request are sockets to pipes.
const kAlways = ['net', 'tty', 'stream'];
const kFilesMax = 32;
const kBytesMax = 256 * 1024;

function textOf(file) {
  try {
    return fs.statSync(file).size > kBytesMax ? '' : fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

// Not require.resolve(), which would remember what it found.
function ownFile(name, from) {
  const base = path.resolve(path.dirname(from), name);
  const candidates = [base, base + '.js', base + '.mjs', base + '.cjs', path.join(base, 'index.js')];
  return candidates.find((file) => fs.statSync(file, { throwIfNoEntry: false })?.isFile());
}

// The builtin modules that the program's own files name.
function builtinsOf(script) {
  const known = new Set(builtinModules);
  const found = new Set();
  const files = [fs.realpathSync(script)];
  for (let i = 0; i < files.length && i < kFilesMax; ++i) {
    for (const [, , name] of (textOf(files[i]) ?? '').matchAll(kNames)) {
      const plain = name.replace(/^node:/, '');
      if (known.has(plain) && !kNever.has(plain) && !/^(_|internal\/)/.test(plain)) found.add(plain);
      const file = /^\.{0,2}\//.test(name) ? ownFile(name, files[i]) : undefined;
      if (file !== undefined && !files.includes(file)) files.push(file);
    }
  }
  return found;
}

// A stream is made when it is first asked for, from what 0, 1 and 2 are then: here it is too early. Instead
// get(name) answers for those of these names, until the returned function is called.
const kStreams = ['stdin', 'stdout', 'stderr'];
function replaceStreams(names, get) {
  const descriptors = names.map((name) => ({ __proto__: null, ...getOwnPropertyDescriptor(process, name) }));
  names.forEach((name, i) => defineProperty(process, name,
                                            { __proto__: null, ...descriptors[i], get: () => get(name) }));
  return () => {
    for (let i = 0; i < names.length; ++i) defineProperty(process, names[i], descriptors[i]);
  };
}

function streamsWatched(run) {
  const touched = [];
  const putBack = replaceStreams(kStreams, (name) => {
    touched.push(name);
    return new (require('stream').Duplex)({ read() {}, write(chunk, encoding, done) { done(); } });
  });
  run();
  putBack();
  return touched;
}

// Loads everything. files: the files loaded for what was asked for, which are part of the checkpoint.
// touched: a stream that was asked for.
function load(script, asked) {
  let builtins = new Set();
  try {
    builtins = builtinsOf(script);
  } catch {
    // Node itself will say what is wrong with the script.
  }
  for (const name of [...kAlways, ...builtins]) require(name);
  const before = new Set(Object.keys(require.cache));
  streamsWatched(rehearse);
  const [touched] = streamsWatched(() => {
    for (const name of asked) createRequire(script)(name);
  });
  return { touched, files: Object.keys(require.cache).filter((file) => !before.has(file)) };
}

// Those of Node's own modules that are harmless to load, so that a program's may be loaded ahead which need
// them: some look at a standard stream for its colours.
const kCommon = ['assert', 'assert/strict', 'async_hooks', 'child_process', 'crypto', 'dgram', 'dns', 'dns/promises',
                 'events', 'fs', 'fs/promises', 'http', 'http2', 'https', 'module', 'net', 'os', 'perf_hooks',
                 'querystring', 'readline', 'readline/promises', 'stream', 'stream/promises', 'stream/web',
                 'string_decoder', 'timers', 'timers/promises', 'tls', 'tty', 'url', 'util', 'util/types', 'v8', 'vm',
                 'worker_threads', 'zlib'];

function loadCommon() {
  const known = new Set(builtinModules);
  streamsWatched(() => kCommon.filter((name) => known.has(name)).forEach((name) => require(name)));
}

// From here until the returned function is called, tell(name) is called if a standard stream is asked for,
// except for those that are used: 'stream1', 'stream2'.
function guardStreams(used, tell) {
  return replaceStreams(kStreams.filter((_, number) => !used.includes(`stream${number}`)), tell);
}

delete require.cache[__filename];
module.exports = { load, loadCommon, guardStreams, settle };
