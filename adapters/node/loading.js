// The program's modules are loaded ahead, as far as a trial has found (trial.js): so many of CommonJS, or an ES
// module's imports (imports.js). Node's own loader says when one of the first has been loaded, by
// `module.loaded = true`; until then that is an accessor, in the same place among the module's properties, and
// no function is wrapped.
'use strict';
const Module = require('module');
const { endOfFirst } = require('./imports.js');

const { defineProperty } = Object;
// Gives a program what a trial cannot guard.
const kInternals = /^--expose[-_]internals/;
const kPlain = { writable: true, enumerable: true, configurable: true };

// A sum of the names of all modules, in the order in which they were loaded: whether a process went the same
// way as its trial.
let trace = 0;
function note(module) {
  for (const letter of `${module.filename}\n`) trace = Math.imul(trace ^ letter.codePointAt(0), 0x01000193) >>> 0;
}

// onLoaded(trace) is called after each of the main module's, inner ones first; not if the program is an ES
// module, nor for those that the first line names. Returns a function that ends it, after which
// nothing is left of it.
function watch(onLoaded) {
  const begun = new Set();
  const settle = (module, value) => {
    begun.delete(module);
    defineProperty(module, 'loaded', { value, ...kPlain });
  };
  const begin = (module) => {
    begun.add(module);
    defineProperty(module, 'loaded', { configurable: true, enumerable: true, get: () => false,
      set(value) {
        settle(module, value);
        if (value !== true) return;
        note(module);
        if (process.mainModule !== undefined) onLoaded(trace);
      } });
  };
  defineProperty(Module.prototype, 'loaded', { configurable: true,
    get: () => undefined,
    set(value) {
      if (value === false) begin(this);
      else defineProperty(this, 'loaded', { value, ...kPlain });
    } });
  return () => {
    for (const module of [...begun]) settle(module, false);
    delete Module.prototype.loaded;
  };
}

// Calls then(trace) once so many have been loaded, and before that goesOn() after each.
function afterModules(count, goesOn, then) {
  let left = count;
  const end = watch((now) => {
    if (--left > 0) return goesOn();
    end();
    return then(now);
  });
}

// Has then(0) called when the imports are loaded of a program that begins with one, there: see imports.js. (The
// order in which they are read is not always the same.)
function afterImports(call, [bytes, path], then) {
  const name = 'cgibridge';
  const value = () => {
    delete globalThis[name];
    call('insert/');
    then(0);
  };
  Object.defineProperty(globalThis, name, { configurable: true, value });
  call('trial/pool'); // Node reads ES modules by the threads of its pool
  return call(`insert/${bytes}/;globalThis.${name}();${path}`) !== null;
}

function numbersOf(used) {
  return used.filter((what) => what.startsWith('stream')).map((what) => Number(what.slice(-1)));
}

// tried: what a trial has found, "COUNT,TRACE,USED,... WHY"; undefined: there was none. ahead: ahead.js. launch: gets
// what a request has to know. isReady(launch): whether a request will find what it needs. stop(): the checkpoint.
// Returns whether the program goes on to it.
function begin({ call, say, ahead, launch, tried, isReady, stop }) {
  const [found, foundTrace, ...used] = tried === undefined ? [] : tried.split(' ', 1)[0].split(',');
  if (found === '0' || process.execArgv.some((word) => kInternals.test(word))) return false;
  const first = endOfFirst(process.argv[1]);
  const end = (why) => say('trial/end', why);
  ahead.loadCommon();
  if (found === undefined) {
    const library = { end, mark: (text) => call(`trial/${text}`), left: () => call('trial/left'),
                      streams: call('streams') };
    const imported = require('./trial.js').begin(library, watch, first !== undefined);
    if (first) afterImports(call, first, imported);
    return true;
  }
  const [usesWords, streams] = [used.includes('words'), numbersOf(used)];
  const open = ahead.guardStreams(used, (name) => end(`uses process.${name}`));
  const stand = (now) => {
    if (call('seen')) end(call('seen'));
    if (now !== Number(foundTrace)) end('loads other modules than before');
    open();
    call('trial/leave');
    call('threads-stay');
    launch.isLoaded = true;
    launch.usesWords = usesWords;
    launch.streams = streams;
    if (!isReady(launch)) call('trial/end/replaces what a request needs');
    stop();
  };
  const goesOn = () => call('trial/0');
  if (found === 'imports') afterImports(call, first, stand);
  else afterModules(Number(found), goesOn, stand);
  goesOn();
  return true;
}

delete require.cache[__filename];
module.exports = { begin };
