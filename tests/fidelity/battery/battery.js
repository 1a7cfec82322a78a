#!/usr/bin/node
// The leak battery in JavaScript; battery.h explains it. kind(name, leaks under, look, leave): look is an
// expression, leave is statements, and both use this file's own names. A kind that leaks under nothing is
// put back under `none`, or ends the process.
'use strict';
const child_process = require('child_process');
const diagnostics_channel = require('diagnostics_channel');
const dns = require('dns');
const events = require('events');
const fs = require('fs');
const http = require('http');
const Module = require('module');
const net = require('net');
const os = require('os');
const querystring = require('querystring');
const tls = require('tls');
const util = require('util');
const own = require('./own.js');
const kept = require('kept');

const KINDS = new Map();
const kind = (name, leaks, look, leave) => KINDS.set(name, [look, leave]);


// The language's names and modules
kind('global', 'none', "'left' in globalThis", 'globalThis.left = 1');
kind('prototype', 'none', '[].left', "Object.defineProperty(Array.prototype, 'left', { value: 1 })");
kind('builtin_replaced', 'none', 'JSON.stringify([1])', "JSON.stringify = () => 'left'");
kind('builtin_attribute', 'none', 'Promise.left', 'Promise.left = 1');
kind('stack_limit', 'none', 'Error.stackTraceLimit', 'Error.stackTraceLimit = 3');
kind('stack_text', 'none', "String(Error.prepareStackTrace).includes('left')",
     'Error.prepareStackTrace = (left) => String(left)');
kind('expression_last', 'none', 'RegExp.$1 === "left"', '/(left)/.test("left")');
kind('main_variable', '', 'typeof leftHere', 'var leftHere = 1');
kind('own_module', '', 'own.left', 'own.left = 1');
kind('package', 'none', 'kept.left', 'kept.left = 1');
kind('module_attribute', 'none', 'fs.left', 'fs.left = 1');
kind('function_replaced', 'none', "fs.existsSync('/')", "fs.existsSync = () => 'left'");
kind('module_cached', '', "'/left' in require.cache", "require.cache['/left'] = new Module('/left')");
kind('extensions', 'none', "'.left' in require.extensions", "require.extensions['.left'] = () => {}");
kind('search_paths', 'none', 'Module.globalPaths.length', "Module.globalPaths.push('/left')");
kind('random_replaced', 'none', 'Math.random() === 7', 'Math.random = () => 7');
// Modules' settings
kind('inspection', 'none', 'util.inspect.defaultOptions.depth', 'util.inspect.defaultOptions.depth = 7');
kind('listeners_most', 'none', 'events.defaultMaxListeners', 'events.defaultMaxListeners = 7');
kind('buffer_pool', 'none', 'Buffer.poolSize', 'Buffer.poolSize = 7');
kind('agent', 'none', 'http.globalAgent.maxSockets', 'http.globalAgent.maxSockets = 7');
kind('name_servers', 'none', 'dns.getServers().join()', "dns.setServers(['127.0.0.7'])");
kind('name_order', 'none', 'dns.getDefaultResultOrder()', "dns.setDefaultResultOrder('ipv4first')");
kind('tls_version', 'none', 'tls.DEFAULT_MIN_VERSION', "tls.DEFAULT_MIN_VERSION = 'TLSv1.3'");
kind('escape', 'none', "querystring.stringify({ a: 'ü' })", 'querystring.escape = (text) => text');
kind('channel', 'none', "diagnostics_channel.channel('left').hasSubscribers",
     "diagnostics_channel.subscribe('left', kept.keep = () => {})");
kind('mark', 'none', "performance.getEntriesByName('left').length", "performance.mark('left')");
kind('report', 'none', 'process.report.directory', "process.report.directory = '/left'");
kind('deprecations', 'none', 'process.noDeprecation', 'process.noDeprecation = true');
kind('warnings_thrown', 'none', 'process.throwDeprecation', 'process.throwDeprecation = true');
kind('console', 'none', "console.debug === console.log || typeof console.left", 'console.left = 1');
// The request's own
kind('arguments', '', 'process.argv.length', "process.argv.push('left')");
kind('switches', 'none', 'process.execArgv.length', "process.execArgv.push('--left')");
kind('environment', '', 'process.env.LEFT', "process.env.LEFT = '1'");
kind('environment_changed', '', 'process.env.GATEWAY_INTERFACE', "process.env.GATEWAY_INTERFACE = 'left'");
kind('environment_of_children', '', "child_process.execSync('echo $LEFTC') + ''", "process.env.LEFTC = '1'");
kind('time_zone', '', 'new Date(0).toString()', "process.env.TZ = 'Asia/Tokyo'; new Date(0).toString()");
kind('exit_code', '', 'process.exitCode', 'process.exitCode = 0');
kind('stdout_replaced', '', 'process.stdout.constructor.name',
     "Object.defineProperty(process, 'stdout', { configurable: true, value: {} })");
kind('stdout_encoding', '', 'process.stdout._writableState.defaultEncoding',
     "process.stdout.setDefaultEncoding('latin1')");
kind('stdout_listeners', '', "process.stdout.listenerCount('left')", "process.stdout.on('left', () => {})");
kind('stdin_rest', '', "fs.readFileSync(0, 'latin1')", 'process.stdin.resume()');
// The process
kind('directory', '', 'process.cwd()', "process.chdir('/usr'); process.cwd()");
kind('umask', '', 'process.umask()', 'process.umask(0o777)');
kind('title', '', 'process.title', "process.title = 'left'");
kind('exit_handlers', '', "process.listenerCount('exit')", "process.on('exit', () => {})");
kind('exit_handlers_early', '', "process.listenerCount('beforeExit')", "process.once('beforeExit', () => {})");
kind('error_handlers', '', "process.listenerCount('uncaughtException')",
     "process.on('uncaughtException', () => {})");
kind('error_capture', '', 'process.hasUncaughtExceptionCaptureCallback()',
     'process.setUncaughtExceptionCaptureCallback(() => {})');
kind('signal_handler', '', "process.listenerCount('SIGUSR2')", "process.on('SIGUSR2', () => {})");
kind('timer', '', 'kept.ticks', 'setInterval(() => kept.ticks = 1, 1).unref()');
kind('immediate', '', 'kept.turned', 'setImmediate(() => kept.turned = 1).unref()');
kind('descriptor', 'none', 'kept.opened', "kept.opened = fs.openSync('/dev/null')");
kind('server', '', 'kept.listens?.listening', 'kept.listens = net.createServer().listen(0).unref()');
kind('child', '', 'kept.child?.exitCode === null',
     "kept.child = child_process.spawn('sleep', ['0.2'], { stdio: 'ignore' }); kept.child.unref()");
kind('nice', 'none', 'os.getPriority()', 'os.setPriority(Math.min(os.getPriority() + 1, 19))');
kind('heap', 'none', 'process.memoryUsage().rss > 200e6', 'globalThis.heap = Buffer.alloc(300 << 20, 1)');

function leave(name) {
  if (KINDS.has(name)) eval(KINDS.get(name)[1]);
}

function main() {
  const query = process.env.QUERY_STRING ?? '';
  const again = query.startsWith('again=') ? query.slice('again='.length) : '';
  leave(again);
  const seen = ['Content-Type: text/plain', ''];
  for (const [name, [look]] of KINDS) {
    let found;
    try {
      found = eval(look);
    } catch (error) {
      found = error.message;
    }
    seen.push(`${name}: ${found}`);
  }
  fs.writeSync(1, seen.join('\n') + '\n');
  leave(query);
}

main();
