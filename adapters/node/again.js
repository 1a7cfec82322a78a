// reset = "none": the process takes one request after the other. The program's main module runs again for
// each, and what Node keeps for a program is put back as far as Node allows: arguments, environment,
// streams, the program's own modules, handlers, timers that did not keep the loop alive. What the program
// put elsewhere (globals, packages' state) stays, as the operator asked for.
'use strict';
const fs = require('fs');
const Module = require('module');
const net = require('net');
const path = require('path');
const { runMain } = require('./again_main.js');

const kNumbers = { stdin: 0, stdout: 1, stderr: 2 };
let bridge; // { call, takeRequest }
let doubt = ''; // why the process must not take another request
let atStart;
let program; // the main module, as Node made it for the first request
const timers = new Map(); // unref()ed timers, which outlive an empty loop, and how to clear each

// ES modules are loaded once in a process, and cannot be unloaded.
function whyNot(script) {
  if (script.endsWith('.mjs')) return 'an ES module cannot be run anew in one process';
  if (script.endsWith('.cjs')) return '';
  for (let folder = path.dirname(fs.realpathSync(script)); ; folder = path.dirname(folder)) {
    if (folder.endsWith('/node_modules')) return '';
    const file = path.join(folder, 'package.json');
    if (fs.existsSync(file)) {
      return JSON.parse(fs.readFileSync(file, 'utf8')).type === 'module'
        ? `an ES module cannot be run anew in one process (${file})` : '';
    }
    if (folder === '/') return '';
  }
}

// ---- what outlives an empty loop ----

function watch(timer, clear) {
  clear(timer);
  const prototype = Object.getPrototypeOf(timer);
  const { unref } = prototype;
  Object.defineProperty(prototype, 'unref', { configurable: true, writable: true, enumerable: false,
    value: { unref() { timers.set(this, clear); return unref.call(this); } }.unref });
}

function watchTimers() {
  watch(setTimeout(() => {}, 1), clearTimeout);
  watch(setImmediate(() => {}), clearImmediate);
}

function watchHandles() {
  const { ChildProcess } = require('child_process');
  for (const [what, class_] of Object.entries({ 'a socket': net.Socket, 'a server': net.Server,
                                                'a child process': ChildProcess })) {
    const { unref } = class_.prototype;
    class_.prototype.unref = function() {
      doubt ||= `${what} was unref()ed`;
      return unref.call(this);
    };
  }
}

// ---- the streams ----

// For a pipe or a socket; otherwise null, without checking the type of fd ourselves.
function socketOf(options) {
  try {
    return new net.Socket(options);
  } catch (error) {
    if (error.code !== 'ERR_INVALID_FD_TYPE') throw error;
    return null;
  }
}

// Makes a stream as Node itself does for a pipe, a file or the null device.
function makeStream(name) {
  const fd = kNumbers[name];
  if (name === 'stdin') {
    return socketOf({ fd, readable: true, writable: false, manualStart: true }) ??
      new fs.ReadStream(null, { fd, autoClose: false });
  }
  const stream = socketOf({ fd, readable: false, writable: true });
  if (stream === null) return plainWriter(fd);
  stream._type = 'pipe';
  return stream;
}

function plainWriter(fd) {
  const { Writable } = require('stream');
  const stream = new Writable({ decodeStrings: true, write(chunk, _, done) {
    fs.writeSync(fd, chunk);
    done();
  } });
  stream._type = 'fs';
  return stream;
}

function openLazily(name) {
  let stream;
  Object.defineProperty(process, name, { configurable: true, enumerable: true, get() {
    if (stream !== undefined) return stream;
    stream = makeStream(name);
    stream.fd = kNumbers[name];
    if (name === 'stdin') return stream;
    stream._isStdio = true;
    stream.destroySoft = stream.destroy;
    stream._destroy = (error, done) => done(error);
    return stream;
  } });
  return () => stream;
}

// The streams that the request opened, without making the others. The first ones are Node's own; it cannot
// be asked whether they were made, but they cost little.
let opened = Object.keys(kNumbers).map((name) => () => process[name]);

// Closing their handles leaves 0, 1 and 2 themselves open, to be replaced by the next request's.
function renewStreams() {
  for (const stream of opened) stream()?._handle?.close();
  opened = Object.keys(kNumbers).map(openLazily);
  for (const name of ['stdout', 'stderr']) console['_' + name] = undefined;
}

// ---- what a request may have changed ----

function listenersNow() {
  return new Map(process.eventNames().map((name) => [name, process.rawListeners(name)]));
}

function putBack() {
  for (const [timer, clear] of timers) clear(timer);
  timers.clear();
  for (const name of process.eventNames()) {
    const kept = atStart.listeners.get(name) ?? [];
    for (const listener of process.rawListeners(name)) {
      if (!kept.includes(listener)) process.removeListener(name, listener);
    }
  }
  if (process.hasUncaughtExceptionCaptureCallback()) process.setUncaughtExceptionCaptureCallback(null);
  process.exitCode = undefined;
  process._exiting = false;
  if (process.title !== atStart.title) process.title = atStart.title;
  process.umask(atStart.umask);
  for (const file of Object.keys(Module._cache)) {
    if (!atStart.modules.has(file) && !file.includes('/node_modules/')) delete Module._cache[file];
  }
}

// ---- from one request to the next ----

// Runs 'exit' handlers as an end would; what they start never runs, so they must not start anything.
function end(emit) {
  const code = process.exitCode ?? 0;
  const busy = process.getActiveResourcesInfo().length;
  process._exiting = true;
  emit.call(process, 'exit', code);
  if (process.getActiveResourcesInfo().length > busy) doubt ||= "an 'exit' handler started something";
  return process.exitCode ?? code;
}

// beforeExit: the loop is empty, the program at its end. process.exit() and uncaught errors never come
// here: they end the process.
function takeNext(emit) {
  if (process.mainModule === undefined) doubt ||= 'the program is an ES module';
  program ??= process.mainModule;
  const code = end(emit);
  // The 'exit' handlers have run, so the loop may only end now: 'exit' must not be emitted twice.
  if (doubt !== '') process.reallyExit(code);
  renewStreams();
  if (bridge.call(`next/${code}`) === null) process.reallyExit(code);
  putBack();
  bridge.takeRequest();
  setImmediate(() => {}); // makes the loop turn, and come here again
  runMain(program);
}

function begin(given) {
  bridge = given;
  watchTimers();
  watchHandles();
  const { emit } = process;
  atStart = { title: process.title, umask: process.umask(), modules: new Set(Object.keys(Module._cache)),
              listeners: listenersNow() };
  process.emit = function(name, ...rest) {
    if (name !== 'beforeExit') return emit.call(this, name, ...rest);
    const busy = process.getActiveResourcesInfo().length;
    const heard = emit.call(this, name, ...rest);
    // Its own handlers may have given the loop more to do; then it is emitted again.
    if (!heard || process.getActiveResourcesInfo().length === busy) takeNext(emit);
    return heard;
  };
}

delete require.cache[__filename];
module.exports = { begin, whyNot };
