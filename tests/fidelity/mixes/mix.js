// A program that does what its query, a number, says: a random mix of promises, timers, streams, threads,
// files and children. Each deed prints what it finds before it changes it; no time, number of a process or
// address is printed. mix.c does the same for C.
'use strict';
const { AsyncLocalStorage } = require('async_hooks');
const { Buffer } = require('buffer');
const { exec, execFileSync, spawn } = require('child_process');
const crypto = require('crypto');
const { EventEmitter, once } = require('events');
const fs = require('fs');
const http = require('http');
const net = require('net');
const os = require('os');
const path = require('path');
const { pipeline, Readable, Transform } = require('stream');
const { setTimeout: after } = require('timers/promises');
const util = require('util');
const { Worker } = require('worker_threads');
const zlib = require('zlib');

const kMask = (1n << 64n) - 1n;
let dice = (BigInt(process.env.QUERY_STRING || 1) * 0x9e3779b97f4a7c15n + 1n) & kMask;
function roll(sides) {
  dice ^= (dice << 13n) & kMask;
  dice ^= dice >> 7n;
  dice ^= (dice << 17n) & kMask;
  return Number((dice >> 20n) % BigInt(sides));
}

let counter = 0;
let isLoud = false;
const kept = new Map();
const emitter = new EventEmitter();
const storage = new AsyncLocalStorage();
const say = (...words) => console.log(...words);

const deeds = {
  look() {
    const names = ['exit', 'SIGUSR2', 'uncaughtException', 'warning'];
    say('look:', process.umask().toString(8), process.cwd(), process.env.MIX, counter, kept.size,
        names.map((name) => process.listenerCount(name)), emitter.eventNames(), process.exitCode,
        process.title === 'mix', globalThis.left, Object.keys(require.cache).length, storage.getStore());
  },
  count() { say('count:', counter++); },
  umask() { say('umask:', process.umask(roll(0o777))); },
  folder() {
    say('folder:', process.cwd());
    process.chdir(['/', '/tmp', '/usr', '/usr/lib'][roll(4)]);
  },
  environment() {
    say('environment:', Object.keys(process.env).sort().join(), process.env.MIX);
    process.env.MIX = roll(1000);
    if (roll(3) === 0) delete process.env.REQUEST_METHOD;
  },
  keep() {
    kept.set(roll(10), (kept.get(1) ?? 0) + roll(5));
    globalThis.left = (globalThis.left ?? 0) + 1;
    say('kept:', [...kept].sort().join(' '), globalThis.left);
  },
  prototypes() {
    say('prototypes:', [].ours, typeof String.prototype.ours, JSON.stringify.name);
    Array.prototype.ours = roll(10);
    String.prototype.ours = () => 'changed';
    if (roll(2)) delete Array.prototype.ours;
  },
  async timers() {
    const order = [];
    setTimeout(() => order.push('timeout'), 1);
    const immediate = new Promise((done) => setImmediate(() => done(order.push('immediate'))));
    process.nextTick(() => order.push('tick'));
    queueMicrotask(() => order.push('microtask'));
    const interval = setInterval(() => order.length < 9 && order.push('interval'), 1);
    await Promise.resolve().then(() => order.push('promise'));
    await Promise.all([after(3), immediate]); // on a busy machine all timers may be due before it
    clearInterval(interval);
    say('timers:', order.filter((name) => name !== 'interval').sort().join(), order.includes('interval'));
  },
  async promises() {
    const numbers = Array.from({ length: 1 + roll(30) }, () => roll(1000));
    const made = await Promise.all(numbers.map(async (number) => {
      for (let i = 0; i < 10; ++i) number = (await number * 31 + i) % 10007;
      return number;
    }));
    const settled = await Promise.allSettled([Promise.reject(new Error('no')), after(1, 'yes')]);
    say('promises:', made.reduce((a, b) => a + b), settled.map((one) => one.status).join());
  },
  async files() {
    const folder = await fs.promises.mkdtemp(path.join(os.tmpdir(), 'mix-'));
    const file = path.join(folder, 'file');
    await fs.promises.writeFile(file, 'line\n'.repeat(roll(3000)));
    const text = await fs.promises.readFile(file, 'utf8');
    const { size } = fs.statSync(file);
    await fs.promises.rm(folder, { recursive: true });
    say('files:', text.length, size, fs.existsSync(file));
  },
  descriptors() {
    const fd = fs.openSync('/dev/null', 'r');
    say('descriptors:', fd < 64);
    if (roll(2)) fs.closeSync(fd);
  },
  async streams() {
    const parts = Array.from({ length: roll(50) }, (_, i) => `part ${i * roll(10)} `);
    let bytes = 0;
    const upper = new Transform({ transform(chunk, _, done) { done(null, String(chunk).toUpperCase()); } });
    upper.on('data', (chunk) => { bytes += chunk.length; });
    await util.promisify(pipeline)(Readable.from(parts), upper, zlib.createGzip(), fs.createWriteStream('/dev/null'));
    say('streams:', bytes);
  },
  async packed() {
    const text = Buffer.from(`text ${roll(100)} `.repeat(roll(2000)));
    const [gzipped, deflated] = [await util.promisify(zlib.gzip)(text), zlib.deflateSync(text)];
    say('packed:', zlib.gunzipSync(gzipped).equals(text), deflated.length);
  },
  async hashes() {
    const hash = crypto.createHash('sha256').update(String(roll(1000))).digest('hex').slice(0, 8);
    const key = await util.promisify(crypto.pbkdf2)('word', 'salt', 1 + roll(50), 16, 'sha1');
    const drawn = new Set([crypto.randomUUID(), crypto.randomUUID(), crypto.randomBytes(8).toString('hex')]);
    say('hashes:', hash, key.toString('hex').slice(0, 8), drawn.size, crypto.randomInt(10) < 10, Math.random() < 1);
  },
  program() {
    say('program:', execFileSync('/bin/sh', ['-c', 'umask; echo $MIX; pwd']).toString());
  },
  async child() {
    const code = roll(5);
    const child = spawn('/bin/sh', ['-c', `cat; exit ${code}`]);
    let text = '';
    child.stdout.on('data', (chunk) => { text += chunk; });
    child.stdin.end('words '.repeat(roll(3000)));
    const [got] = await once(child, 'close');
    say('child:', got, text.length);
  },
  async failing() {
    const error = await new Promise((done) => exec('exit 7', done));
    say('failing:', error.code, error.killed);
  },
  async thread() {
    const code = 'const { parentPort, workerData } = require("worker_threads");' +
                 'globalThis.left = 7; parentPort.postMessage(workerData.map((n) => n * n));';
    const worker = new Worker(code, { eval: true, workerData: [counter, roll(100)] });
    const ended = once(worker, 'exit'); // which may come before the next turn
    const [message] = await once(worker, 'message');
    const [exitCode] = await ended;
    say('thread:', message, exitCode, globalThis.left);
  },
  shared() {
    const cells = new Int32Array(new SharedArrayBuffer(8));
    say('shared:', Atomics.add(cells, 0, 5), Atomics.wait(cells, 0, 5, 1), cells[0]);
  },
  async server() {
    const server = http.createServer((request, response) => response.end(`served ${request.url} ${counter}`));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address();
    const answer = await fetchText(`http://127.0.0.1:${port}/${roll(100)}`);
    await new Promise((done) => server.close(done));
    say('server:', answer);
  },
  async socket() {
    const server = net.createServer((peer) => peer.end('over the socket'));
    const name = path.join(os.tmpdir(), `mix-${process.pid}`);
    await new Promise((done) => server.listen(name, done));
    let text = '';
    for await (const chunk of net.connect(name)) text += chunk;
    await new Promise((done) => server.close(done));
    say('socket:', text);
  },
  async signal() {
    say('signal:', process.listenerCount('SIGUSR2'));
    const got = once(process, 'SIGUSR2');
    const alive = setInterval(() => {}, 1000);
    process.kill(process.pid, 'SIGUSR2');
    say('signal:', await got);
    clearInterval(alive);
  },
  memory() {
    const blocks = Array.from({ length: 20 }, (_, i) => Buffer.alloc(1 << roll(18), i));
    const sum = crypto.createHash('md5').update(Buffer.concat(blocks)).digest('hex').slice(0, 8);
    const objects = Array.from({ length: roll(20000) }, (_, i) => ({ i, text: `object ${i}` }));
    say('memory:', sum, objects.length, Buffer.allocUnsafe(16).length);
  },
  hot() {
    let value = roll(1000);
    const step = (number) => (number * 31 + 7) % 100003;
    for (let i = 0; i < 200000; ++i) value = step(value);
    say('hot:', value);
  },
  async storage() {
    say('storage:', storage.getStore());
    const got = await storage.run(roll(10), async () => { await after(1); return storage.getStore(); });
    say('storage:', got);
    if (roll(2)) storage.enterWith('entered');
  },
  events() {
    say('events:', emitter.listenerCount('event'), emitter.emit('event'));
    emitter.on('event', () => { ++counter; });
    emitter.emit('event');
  },
  modules() {
    const name = ['querystring', 'url', 'readline', 'dns', 'tls', 'vm', 'perf_hooks'][roll(7)];
    say('modules:', Object.keys(require(name)).length > 0, module.children.length);
  },
  async imports() {
    const name = ['node:assert', 'node:string_decoder', 'data:text/javascript,export default 5'][roll(3)];
    say('imports:', typeof (await import(name)).default);
  },
  async input() {
    let bytes = 0;
    for await (const chunk of process.stdin) bytes += chunk.length;
    say('input:', bytes);
  },
  much() { say('much:', Array.from({ length: roll(6000) }, (_, i) => i * 7919).join(' ')); },
  errors() {
    const faults = [() => null.name, () => { throw new TypeError('thrown'); }, () => JSON.parse('{'),
                    () => fs.readFileSync('/nowhere')];
    try {
      faults[roll(4)]();
    } catch (error) {
      say('errors:', error.name, error.code);
    }
  },
  ends() {
    process.on('exit', (code) => say('at exit:', code, counter));
    if (roll(3) === 0) process.on('beforeExit', () => { if (!isLoud) say('before the exit'); isLoud = true; });
  },
  code() {
    say('code:', process.exitCode);
    process.exitCode = roll(50);
  },
  title() {
    say('title:', process.title === 'mix');
    process.title = 'mix';
  },
  left() {
    setTimeout(() => {}, 1e6).unref();
    say('left:', process.getActiveResourcesInfo().includes('Timeout'));
  },
  regular() { say('regular:', /(\d+)-(\w+)/.exec(`${roll(100)}-word`).slice(1).join(), RegExp.$1 !== ''); },
  formats() {
    say('formats: %o', new Intl.NumberFormat('en').format(roll(1e6)), new Date(0).toISOString(),
        [3, 1, 2].toString(), util.inspect({ a: { b: { c: {} } } }));
  },
};

function fetchText(url) {
  return new Promise((done, failed) => {
    http.get(url, { agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => { text += chunk; });
      response.on('end', () => done(`${response.statusCode} ${text}`));
    }).on('error', failed);
  });
}

async function main() {
  for (let i = 0; i < 20; ++i) roll(2);
  const names = Object.keys(deeds);
  deeds.look();
  for (let left = 2 + roll(6); left > 0; --left) await deeds[names[roll(names.length)]]();
  deeds.look();
  switch (roll(12)) {
    case 0: return process.exit(roll(100));
    case 1: throw new Error('rejected at the end');
    case 2: return setTimeout(() => { throw new Error('thrown at the end'); }, 1);
    case 3: return process.kill(process.pid, 'SIGKILL');
    case 4: return process.abort();
    case 5: return process.nextTick(() => process.exit());
    case 6: return setTimeout(() => process.reallyExit(roll(100)), 2);
    case 7: return new Promise(() => {});
    default: return undefined;
  }
}

main();
