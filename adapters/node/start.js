// Brings a Node program to its checkpoint: loaded by --require before the program, in a process that has
// served nobody; its last line returns when the process has been given its request. Then Node continues by
// itself, as if it had just come here: nothing of the program is wrapped.
'use strict';
const { readlinkSync } = require('fs');
const { resolve } = require('path');

// Kept from before the program's modules, which may replace what they like; see isReady().
const { defineProperty, getOwnPropertyDescriptor, keys } = Object;
const { apply } = Reflect;
const { random } = Math;
const { chdir } = process;

// What Node, V8, OpenSSL and libuv read of the environment while they start.
const kReadAtStart = /^(NODE_|UV_|SSL_CERT_|OPENSSL_|LC_|LANG$|LANGUAGE$|HOME$|FORCE_COLOR$|NO_COLOR$)/;
// The bridge's own switch: room for the new objects of nearly every request.
const kRoom = '--min-semi-space-size=16';
// Switches of NODE_OPTIONS that run modules before this one.
const kRunsBefore = /(^|\s)(-r|--require|--import|--loader|--experimental-loader)(=|\s)/;

function answer(path, encoding) {
  try {
    return readlinkSync(path, encoding);
  } catch {
    return null;
  }
}

// Where the library answers; told to the first caller that asks, and to no other after that.
const root = answer('/.cgibridge/open', 'utf8');

// The library's answer, or null without it; readlink() is what every language has.
function call(what, encoding = 'utf8') {
  return answer(root + what, encoding);
}

function say(what, text) {
  // A path ends at a NUL, and the library's path at PATH_MAX.
  call(`${what}/${String(text).replaceAll('\0', ' ').slice(0, 1000)}`);
}

// Leaves no trace of this file where a program, or a process that it starts, looks.
function forget() {
  delete require.cache[__filename];
  const [first, file, third] = process.execArgv;
  if (first !== '--require' || !file.endsWith('/node/start.js')) return;
  process.execArgv.splice(0, third === kRoom ? 3 : 2);
}

function readAtStart() {
  const found = [];
  for (const name of keys(process.env)) {
    if (kReadAtStart.test(name)) found.push(name + '=' + process.env[name]);
  }
  return found.sort().join('\0');
}

function requestWords(ask) {
  const words = [];
  let word = [];
  for (let part; (part = ask('argv/word', 'buffer')) !== null && part.length > 0;) {
    word.push(part.subarray(1));
    if (part[0] === 0x2b) continue; // '+': more of the word follows
    words.push(Buffer.concat(word).toString());
    word = [];
  }
  return words;
}

// The request's words are the program's command line, then those of its query.
function takeWords(ask, launch) {
  if (process.argv.length !== 2) process.argv.length = 2; // a module may have frozen it
  // The interpreter, its switches and the script are what they were when it was launched.
  if (Number(ask('argv/count')) === launch.wordCount) return;
  if (launch.usesWords) ask("anew/the request has words, and the program's modules have looked at these");
  const words = requestWords(ask);
  const script = words.findIndex((word) => resolve(word) === process.argv[1]);
  if (script >= 0 && script + 1 < words.length) process.argv.push(...words.slice(script + 1));
}

// From here libc's environment is the request's: process.env shows it, and children get it.
function takeEnvironment(ask, launch) {
  const zoneWas = process.env.TZ;
  ask('environ/set');
  if (readAtStart() !== launch.readAtStart) {
    ask("anew/the request's environment differs in what Node reads when it starts");
  }
  if (process.env.TZ === zoneWas) return;
  if (launch.isLoaded) ask("anew/the request's time zone is another one");
  const zone = process.env.TZ;
  process.env.TZ = zone ?? '';  // an assignment makes V8 check it again
  if (zone === undefined) delete process.env.TZ;
}

function method(object, name, value) {
  defineProperty(object, name, { __proto__: null, ...getOwnPropertyDescriptor(object, name), value });
}

// The object on the prototype chain that has the property: performance's chains differ between versions of
// Node.
function holderOf(object, name) {
  while (object !== null && !Object.hasOwn(object, name)) object = Object.getPrototypeOf(object);
  return object;
}

// Clocks that count from the start of the process then count from the call of the returned function.
function holdClocks() {
  const { uptime } = process;
  const { performance } = globalThis;
  const { now, timeOrigin } = performance;
  const booted = now.call(performance);
  let late = 0;
  method(process, 'uptime', { uptime() { return uptime() - late / 1000; } }.uptime);
  method(holderOf(performance, 'now'), 'now', { now() { return apply(now, this, []) - late; } }.now);
  const holder = holderOf(performance, 'timeOrigin');
  const asItWas = Object.getOwnPropertyDescriptor(holder, 'timeOrigin');
  if (asItWas.get !== undefined) {
    const { get } = Object.getOwnPropertyDescriptor({ get timeOrigin() { return timeOrigin + late; } },
                                                    'timeOrigin');
    Object.defineProperty(holder, 'timeOrigin', { ...asItWas, get });
  }
  return () => {
    late = apply(now, performance, []) - booted;
    if (asItWas.get !== undefined) return;
    defineProperty(holder, 'timeOrigin', { __proto__: null, ...asItWas, value: timeOrigin + late });
  };
}

// In a copy of the process that stood at the checkpoint: what a process of its own would have drawn or been given.
function renew(ask) {
  method(process, 'pid', +ask('pid'));
  // The first number makes V8 seed the program's own context, unless it was seeded before the checkpoint.
  if (ask('v8/renew') !== null) apply(random, Math, []);
  if (ask('v8/was-used') === null) ask('anew/Math.random() was seeded before the checkpoint');
}

// V8's generator of seeds is known to the library when an object has become a key between two looks.
function findGenerator() {
  call('v8/find');
  new Set().add({});
  return call('v8/find') !== null;
}

// Those that a module has made of the zygote's pipes.
function takeStreams(ask, numbers) {
  if (numbers.length === 0) return;
  const letters = ask('streams');
  for (const number of numbers) {
    if (letters[number] !== 'p') ask('anew/a standard stream of the request is no pipe');
    ask(`unblock/${number}`);
  }
}

function takeRequest(ask, launch) {
  if (launch.isLoaded) takeStreams(ask, launch.streams);
  apply(chdir, process, ['.']); // the folder is the request's; this makes Node forget the old one
  takeEnvironment(ask, launch);
  takeWords(ask, launch);
  ask('close-at-exec');
  ask('script');
}

// The library's answers to a request that starts no process anew.
function simulated(answers) {
  return (what) => {
    if (what.startsWith('anew/')) throw new Error(what);
    return answers[what] ?? null;
  };
}

// Simulates a request whose words are the program's own, and one without.
function rehearse(launch) {
  const words = [...process.argv, ''].map((word) => Buffer.from(word && '.' + word));
  const ask = simulated({ streams: 'ppp' });
  takeRequest((what) => (what === 'argv/word' ? words.shift() : ask(what)), { ...launch, usesWords: false });
  takeRequest(simulated({ streams: 'ppp', 'argv/count': launch.wordCount }), launch);
}

// Whether the program's modules have left what a request needs: all of it is done once more, and changes
// nothing.
function isReady(launch) {
  const { pid, argv } = process;
  const words = [argv[0], argv[1]];
  if (argv.length !== 2) return false; // each request would lose what a module has added
  try {
    renew(simulated({ pid: `${pid}`, 'v8/was-used': '' }));
    rehearse(launch);
  } catch {
    return false;
  }
  return process.pid === pid && process.argv === argv && argv.length === 2 &&
    argv[0] === words[0] && argv[1] === words[1];
}

// What a trial has found; see loading.js.
const tried = process.env.CGIBRIDGE_TRIAL;
delete process.env.CGIBRIDGE_TRIAL;

function stand() {
  const reset = call('reset');
  const again = reset === 'none' ? require('./again.js') : null;
  const why = again?.whyNot(process.argv[1]);
  if (why) say('reset/fork', why);
  if (kRunsBefore.test(process.env.NODE_OPTIONS ?? '')) {
    say('note/shallower', 'NODE_OPTIONS names modules that run before the checkpoint');
  }
  const asked = (process.env.CGIBRIDGE_PRELOAD ?? '').split(',').filter(Boolean);
  delete process.env.CGIBRIDGE_PRELOAD;
  const ahead = require('./ahead.js');
  const { files, touched } = ahead.load(process.argv[1], asked);
  const isCopied = call('is-ahead') === null;
  if (isCopied && asked.length > 0) say('note/shallower', 'modules of its own are loaded ahead');
  if (isCopied && !findGenerator()) say('note/shallower', 'the generator of V8\'s random numbers is not found');
  if (touched) say('note/shallower', `a module uses process.${touched} while it is loaded ahead`);
  for (const file of files) say('note/file', file);
  if (!again || why) require('./ending.js').watch(call);
  forget();
  const launch = { readAtStart: readAtStart(), wordCount: process.execArgv.length + 2 };
  const startClocks = holdClocks();
  rehearse(launch);
  startClocks();
  const stop = (level) => {
    if (isCopied) ahead.settle();
    if (call(`checkpoint/${level}`) === null) process.reallyExit(70);
    if (again && !why) again.begin({ call, takeRequest: () => takeRequest(call, launch) });
    if (isCopied) renew(call);
    startClocks();
    takeRequest(call, launch);
  };
  const goesOn = isCopied && !again && call('level') === 'compiled' &&
    require('./loading.js').begin({ call, say, ahead, launch, tried, isReady,
                                      stop: () => stop('compiled') });
  if (!goesOn) stop('booted');
}

if (root !== null) {
  stand();
} else if (!require('worker_threads').isMainThread) {
  forget(); // a thread of the program, to which --require applies as well
} else {
  forget();
  // Without the library this is a plain CGI program, or the bridge started an interpreter that does not
  // load it: then nothing may run.
  if (process.env.REQUEST_METHOD === undefined) process.reallyExit(70);
}
