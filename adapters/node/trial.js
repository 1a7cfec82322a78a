// A trial: the program runs in a process that will answer nobody, until it does the first thing that only a
// request can do. The process then starts over, knowing how many modules had been loaded before that: this
// many are loaded ahead, because all that they did is the same in each process.
//
// What libc's functions tell is watched by the library: the time of day, variables, files, children, sockets,
// threads, output. Here is watched what needs none of them: other clocks, random numbers, all variables at
// once, timers, and whatever is begun and ends later. As the process is thrown away, functions may be wrapped.
// What is not known to be harmless counts, also what newer versions of Node will bring.
'use strict';
const { readFileSync } = require('fs');
const Module = require('module');
const vm = require('vm');
const { answer, replace, stand, ...shown } = require('./shown.js');

const words = (text) => new Set(text.split(/\s+/).filter(Boolean));

// What may be used of each of Node's modules, besides constants and other plain values.
const kHarmless = {
  child_process: words('ChildProcess'),
  cluster: words('Worker'),
  crypto: words(`createHash createHmac getHashes getCiphers getCurves getCipherInfo getFips timingSafeEqual hash
    Hash Hmac Cipheriv Decipheriv Cipher Decipher Sign Verify Certificate KeyObject X509Certificate ECDH
    DiffieHellman DiffieHellmanGroup webcrypto subtle constants`),
  dgram: words('Socket'),
  dns: words('Resolver promises'),
  'dns/promises': words('Resolver'),
  fs: words(`readFileSync existsSync statSync lstatSync fstatSync readdirSync realpathSync accessSync openSync
    closeSync readSync readlinkSync Stats Dirent Dir ReadStream WriteStream FileReadStream FileWriteStream
    promises _toUnixTimestamp`),
  http: words(`Agent ClientRequest IncomingMessage OutgoingMessage Server ServerResponse validateHeaderName
    validateHeaderValue globalAgent maxHeaderSize`),
  http2: words('Http2ServerRequest Http2ServerResponse getDefaultSettings getPackedSettings getUnpackedSettings'),
  https: words('Agent Server globalAgent'),
  net: words('isIP isIPv4 isIPv6 Socket Stream Server BlockList SocketAddress'),
  os: words('EOL arch platform type endianness homedir tmpdir hostname release version machine'),
  perf_hooks: words('Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver'),
  readline: words('Interface promises'),
  'readline/promises': words('Interface Readline'),
  timers: words('clearTimeout clearInterval clearImmediate promises'),
  'timers/promises': words(''),
  tls: words('TLSSocket SecureContext Server rootCertificates getCiphers checkServerIdentity'),
  tty: words('isatty ReadStream WriteStream'),
  v8: words('serialize deserialize Serializer Deserializer DefaultSerializer DefaultDeserializer cachedDataVersionTag'),
  vm: words('Script'),
  worker_threads: words('isMainThread MessagePort'),
  zlib: words(`BrotliCompress BrotliDecompress Deflate DeflateRaw Gunzip Gzip Inflate InflateRaw Unzip
    deflateSync inflateSync gzipSync gunzipSync deflateRawSync inflateRawSync unzipSync brotliCompressSync
    brotliDecompressSync crc32`),
};
// Some of those that are classes may be extended, but not made.
const kMayBeMade = words(`Agent Stats Dirent BlockList KeyObject Script DefaultSerializer DefaultDeserializer
  Serializer Deserializer`);
// Modules that are only known when they are asked for, because they do something when they are loaded.
const kRare = words('inspector inspector/promises repl test test/reporters wasi trace_events sqlite sea domain');

const kOfModule = words(`createRequire isBuiltin builtinModules findPackageJSON Module syncBuiltinESMExports
  findSourceMap SourceMap wrap globalPaths _cache _pathCache _extensions _load _resolveFilename
  _resolveLookupPaths _nodeModulePaths _findPath _initPaths _preloadModules _debug _stat _readPackage
  runMain constants stripTypeScriptTypes`);
const kOfProcess = words(`version versions arch platform release features config moduleLoadList domain nextTick on
  once addListener off removeListener removeAllListeners prependListener prependOnceListener listeners
  rawListeners listenerCount eventNames setMaxListeners getMaxListeners _events _eventsCount _maxListeners
  execPath execArgv argv argv0 cwd env emit emitWarning allowedNodeEnvironmentFlags noDeprecation
  throwDeprecation traceDeprecation traceProcessWarnings noProcessWarnings exitCode dlopen getBuiltinModule stdout stderr
  getuid geteuid getgid getegid getgroups _exiting _tickDomainCallback constructor mainModule
  setUncaughtExceptionCaptureCallback hasUncaughtExceptionCaptureCallback setSourceMapsEnabled
  sourceMapsEnabled debugPort`);
const kOfGlobal = words(`global globalThis process console Buffer URL URLSearchParams TextEncoder TextDecoder
  AbortController AbortSignal Event EventTarget CustomEvent DOMException structuredClone
  queueMicrotask atob btoa WebAssembly Blob File FormData Headers Request Response Performance
  PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver PerformanceObserverEntryList
  PerformanceResourceTiming performance crypto Crypto CryptoKey SubtleCrypto navigator Navigator
  clearTimeout clearInterval clearImmediate ReadableStream ReadableStreamDefaultReader
  ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableByteStreamController
  ReadableStreamDefaultController TransformStream TransformStreamDefaultController WritableStream
  WritableStreamDefaultController WritableStreamDefaultWriter ByteLengthQueuingStrategy
  CountQueuingStrategy TextEncoderStream TextDecoderStream URLPattern SuppressedError
  DisposableStack AsyncDisposableStack`);
// Reading these, or their descriptors, would load much.
const kLoadedWhenRead = words('fetch WebSocket EventSource CloseEvent MessageEvent');
// These have a time of their own.
const kHaveTime = words('Event CustomEvent PerformanceMark PerformanceObserver');
const kOfConsole = words('Console context createTask');
const kOfWebAssembly = words('Module Instance Memory Table Global Tag JSTag Exception CompileError LinkError ' +
                             'RuntimeError validate');

// A realm of its own has what this one has.
const ofLanguage = new Set(vm.runInNewContext('Object.getOwnPropertyNames(globalThis)'));
ofLanguage.delete('ShadowRealm');
// The standard streams, and files of modules that are being closed.
const kNodesOwn = words('PipeWrap CloseReq');
const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames, getPrototypeOf } = Object;
const { apply, construct } = Reflect;

let end; // end(what): starts over
let isNodes = false; // what is done now is Node's own

// Where the innermost function is that is not of this file.
function caller() {
  const own = getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  Error.prepareStackTrace = (_, calls) => calls;
  const { stack } = new Error();
  if (own === undefined) delete Error.prepareStackTrace;
  else defineProperty(Error, 'prepareStackTrace', own);
  return stack.find((at) => at.getFileName() !== __filename);
}

// Its loader of ES modules finds functions where the program finds them.
function isLoaders() {
  return /^node:internal\/(modules|deps\/cjs-module-lexer)\//.test(caller()?.getFileName() ?? '');
}

function made(target, name, values, as) {
  return isNodes ? construct(target, values, as) : end(`makes ${name}`);
}

function guarded(target, name) {
  return new Proxy(target, {
    apply: (_, self, values) => (isNodes || isLoaders() ? apply(target, self, values) : end(`calls ${name}`)),
    construct: (_, values, as) => made(target, name, values, as),
    get(_, key, self) {
      const value = Reflect.get(target, key, self);
      const is = typeof value === 'function' && Object.hasOwn(target, key) && key !== 'prototype';
      return is ? guarded(value, `${name}.${String(key)}`) : value;
    },
  });
}

// A class that may be looked at and extended, but of which nothing is made, by a call neither.
function unmade(target, name) {
  return stand(target, new Proxy(target, {
    apply: (_, self, values) => (isNodes ? apply(target, self, values) : end(`makes ${name}`)),
    construct: (_, values, as) => made(target, name, values, as),
  }));
}

function guardedResult(get, name) {
  return function () {
    const value = apply(get, this, []);
    return typeof value === 'function' ? guarded(value, name) : end(`uses ${name}`);
  };
}

// Everything that the object holds and is not harmless. Returns what guards properties that are made when
// they are read; until then they are missing.
function guard(object, harmless, label, isModule = false) {
  const accessors = [];
  for (const name of getOwnPropertyNames(object)) {
    if (harmless.has(name) || name === 'prototype') continue;
    const is = getOwnPropertyDescriptor(object, name);
    if (!is.configurable) continue;
    const full = `${label}${name}`;
    if (is.get || is.set) {
      const tell = () => end(`uses ${full}`);
      const get = isModule && !kLoadedWhenRead.has(name) ? guardedResult(is.get, full) : tell;
      delete object[name];
      accessors.push(() => defineProperty(object, name, { ...is, get: is.get && get, set: is.set && tell }));
    } else if (typeof is.value === 'function') {
      replace(object, name, stand(is.value, guarded(is.value, full)));
    }
  }
  return () => accessors.forEach((define) => define());
}

function guardClasses(object, label) {
  for (const name of getOwnPropertyNames(object)) {
    const { value, configurable } = getOwnPropertyDescriptor(object, name);
    const is = typeof value === 'function' && configurable && /^[A-Z]/.test(name) && !kMayBeMade.has(name);
    if (is) replace(object, name, unmade(value, label + name));
  }
}

function guardModule(name) {
  const exports = require(name);
  const guardAccessors = guard(exports, kHarmless[name], `${name}.`, true);
  guardClasses(exports, `${name}.`);
  return guardAccessors;
}

const plainName = (request) => String(request).replace(/^node:/, '');

function endIfRare(name) {
  if (kRare.has(name)) end(`loads ${name}`);
}

function guardModules() {
  const names = Object.keys(kHarmless).filter((name) => name !== 'cluster' && Module.isBuiltin(name));
  const rest = [...names.map(guardModule), guard(require('fs').promises, words('constants'), 'fs.promises.'),
                guard(require('fs').realpathSync, words(''), 'fs.realpathSync.'), // libc's, which tells nobody
                guard(Module, kOfModule, 'module.'),
                guard(vm.Script.prototype, words('constructor runInThisContext createCachedData'), 'vm.Script.')];
  Module.syncBuiltinESMExports();
  for (const guardAccessors of rest) guardAccessors();
  const { _load } = Module;
  let knowsCluster = false;
  Module._load = function (request, ...more) {
    const name = plainName(request);
    endIfRare(name);
    const exports = apply(_load, this, [request, ...more]);
    if (name === 'cluster' && !knowsCluster) {
      knowsCluster = true;
      guardModule(name)();
    }
    return exports;
  };
}

// One variable's name is told by libc's getenv().
function guardEnvironment() {
  const change = () => end('changes the environment');
  const all = () => end('looks at all variables');
  const env = new Proxy(process.env, { ownKeys: all, set: change, deleteProperty: change, defineProperty: change });
  answer(process, 'env', () => env, { set: change });
}

function guardDate() {
  const { Date } = globalThis;
  const now = () => end('asks for the time');
  const make = (target, values, as) => (values.length === 0 ? now() : construct(target, values, as));
  replace(Date, 'now', now);
  replace(globalThis, 'Date', new Proxy(Date, { apply: now, construct: make }));
}

function allBut(object, ...names) {
  return new Set(getOwnPropertyNames(object).filter((name) => !names.includes(name)));
}

function guardGlobals() {
  const { performance, AbortSignal, WebAssembly, Math, Atomics, console } = globalThis;
  const { webcrypto } = require('crypto');
  for (let at = performance; at !== Object.prototype && at !== EventTarget.prototype; at = getPrototypeOf(at)) {
    guard(at, words('constructor addEventListener removeEventListener dispatchEvent'), 'performance.')();
    for (const name of ['timeOrigin', 'nodeTiming']) { // plain values, until Node 19 and in all
      if (Object.hasOwn(at, name)) answer(at, name, () => end(`uses performance.${name}`));
    }
  }
  shown.guardInspection(performance, 'performance');
  guard(EventTarget.prototype, allBut(EventTarget.prototype, 'dispatchEvent'), 'EventTarget.')(); // an event has a time
  guard(getPrototypeOf(webcrypto), words('constructor subtle'), 'crypto.')();
  guard(getPrototypeOf(webcrypto.subtle), words('constructor'), 'crypto.subtle.')();
  guard(AbortSignal, words('abort any'), 'AbortSignal.')();
  guard(URL, allBut(URL, 'createObjectURL'), 'URL.')(); // draws a name
  guard(WebAssembly, kOfWebAssembly, 'WebAssembly.')();
  guard(Math, allBut(Math, 'random'), 'Math.')();
  guard(Atomics, allBut(Atomics, 'wait', 'waitAsync'), 'Atomics.')();
  guard(console, kOfConsole, 'console.')();
  for (const name of kLoadedWhenRead) {
    if (delete globalThis[name]) answer(globalThis, name, () => end(`uses ${name}`));
  }
  guard(globalThis, new Set([...ofLanguage, ...kOfGlobal, ...kLoadedWhenRead]), '')();
  for (const name of kHaveTime) {
    if (!Object.hasOwn(globalThis, name)) continue;
    defineProperty(globalThis, name, { configurable: true, value: unmade(globalThis[name], name) });
  }
  if (globalThis.Temporal) guard(globalThis.Temporal.Now, words(''), 'Temporal.Now.')();
  guardDate();
}

// Standard output and error, as pipes, which they are in each request: known only by their numbers.
function guardStreams(streams, taken) {
  [['stdout', 1], ['stderr', 2]].forEach(([name, number]) => {
    const { get } = getOwnPropertyDescriptor(process, name);
    const give = () => {
      if (streams?.[number] !== 'p') end(`uses process.${name}`);
      taken(number);
      isNodes = true;
      const stream = apply(get, process, []);
      isNodes = false;
      return stream;
    };
    answer(process, name, give, { set: () => end(`replaces process.${name}`) });
  });
}

// Whether the code that reads the value of this name asks for its type: "typeof process.pid".
function onlyTypeIsAsked(name) {
  const at = caller();
  try {
    const line = readFileSync(at.getFileName(), 'utf8').split('\n')[at.getLineNumber() - 1];
    const column = at.getColumnNumber() - 1;
    return line.slice(0, column + name.length).includes(`typeof ${name}`) &&
      /typeof [\w.]*$/.test(line.slice(0, column));
  } catch {
    return false;
  }
}

function guardProcess(taken) {
  const { argv, emit, getBuiltinModule } = process;
  process.emit = function (name, ...more) {
    if (name !== 'newListener' && name !== 'removeListener') end(`emits ${String(name)}`);
    return apply(emit, this, [name, ...more]);
  };
  if (getBuiltinModule) {
    replace(process, 'getBuiltinModule', function (id) {
      endIfRare(plainName(id));
      return apply(getBuiltinModule, this, [id]);
    });
  }
  guard(process, kOfProcess, 'process.')();
  guard(getPrototypeOf(process), kOfProcess, 'process.')();
  shown.guardInspection(process, 'process');
  // A plain value of a process's own.
  for (const name of ['pid', 'ppid', 'title']) {
    const value = process[name];
    answer(process, name, () => (onlyTypeIsAsked(`process.${name}`) ? value : end(`uses process.${name}`)));
  }
  const get = () => {
    taken();
    return argv;
  };
  answer(process, 'argv', get, { set: () => end('changes process.argv') });
}

// From here on this process ends by starting over. library: mark(text): how far it has come. left(): what the
// library finds left in the process, or ''. end(why): starts over. streams: a letter for each of 0, 1, 2.
// watchModules: watch() of loading.js. isImported: the program is an ES module, if it is any program; the
// function that is returned is to be called when its imports are loaded.
function begin(library, watchModules, isImported) {
  let count = 0;
  const used = new Set();
  const { getActiveResourcesInfo, moduleLoadList } = process;
  const resources = () => (getActiveResourcesInfo ? apply(getActiveResourcesInfo, process, []) : []);
  const before = resources().length;
  const mark = (trace) => library.mark([count, trace, ...used].join(','));
  const check = () => {
    const left = library.left();
    if (left) end(left);
    const busy = resources().filter((what) => !kNodesOwn.has(what));
    if (busy.length > before) end(`begins something that ends later: ${busy.at(-1)}`);
  };
  ({ end } = library);
  shown.begin(end);
  guardProcess(() => used.add('words'));
  guardStreams(library.streams, (number) => used.add(`stream${number}`));
  guardEnvironment();
  guardModules();
  shown.guardStatus(require('fs'));
  Module.syncBuiltinESMExports();
  guardGlobals();
  shown.guardBases();
  shown.guardDescriptors();
  // What an addon begins in the pool's threads is not seen.
  if (isImported) replace(process, 'dlopen', () => end('loads an addon'));
  watchModules((trace) => {
    check();
    ++count;
    mark(trace);
  });
  mark(0);
  return (trace) => {
    check();
    const rare = [...kRare].find((name) => moduleLoadList?.includes(`NativeModule ${name}`));
    if (rare !== undefined) end(`loads ${rare}`);
    count = 'imports';
    mark(trace);
  };
}

delete require.cache[__filename];
module.exports = { begin };
