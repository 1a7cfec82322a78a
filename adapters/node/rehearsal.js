// Before the checkpoint, what every request makes Node do for the first time is done once, so that it is
// already compiled: a main module is run (an empty one), something is written to a pipe. What a program
// could see of this is undone.
'use strict';
const fs = require('fs');
const Module = require('module');
const net = require('net');
const path = require('path');

function newKeys(object, before) {
  return Object.keys(object).filter((key) => !before.has(key));
}

function runMain() {
  const tables = [Module._cache, Module._pathCache].map((table) => [table, new Set(Object.keys(table))]);
  Module.runMain(path.join(__dirname, 'nothing.js'));
  for (const [table, before] of tables) newKeys(table, before).forEach((key) => delete table[key]);
  delete process.mainModule;
}

// Writes as process.stdout does, to a fake pipe: libuv releases a real one only in the program's loop. Uses
// a Console of its own, because the global one would check process.stderr for colours.
function write() {
  const handle = { writeUtf8String: () => 0, writeLatin1String: () => 0, getAsyncId: () => 0 };
  const stream = new net.Socket({ handle, readable: false, writable: true });
  new console.Console({ stdout: stream, colorMode: false }).log('a %s', 'line');
  const fd = fs.openSync('/dev/null'); // what it throws, it throws only after all that is to be compiled
  try {
    new net.Socket({ fd });
  } catch {}
  fs.closeSync(fd);
}

function rehearse() {
  write();
  runMain();
  process._tickCallback();
}

delete require.cache[__filename];
module.exports = { rehearse };
