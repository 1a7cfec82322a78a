// Before the checkpoint, what every request makes Node do for the first time is done once, so that it is
// already compiled: a main module is run (an empty one), something is written to a pipe. What a program
// could see of this is undone.
'use strict';
const fs = require('fs');
const Module = require('module');
const net = require('net');
const path = require('path');
const { getHeapSpaceStatistics, setFlagsFromString } = require('v8');
const vm = require('vm');

const kPauses = 3;
const kPauseMs = 3;
const kRoomBytes = 320 * 1024; // a small request allocates some 250 KiB

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

// What a copy would do in each request again, and with V8's other threads, which would have to be made for it:
// take over the code that they have compiled, and have more compiled; and collect what was allocated before.
function settle() {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  setFlagsFromString('--no-concurrent-sparkplug'); // the default until Node 22
  // A function that loading has made nearly hot would be optimised in each request. Until Node 20 V8 counts
  // these ticks in all, so a request has to begin anew, as it were.
  if (parseInt(process.versions.v8) < 12) setFlagsFromString('--ticks-before-optimization=6');
  for (let i = 0; i < kPauses; ++i) Atomics.wait(nothing, 0, 0, kPauseMs);
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  if (space === undefined || space.space_available_size >= kRoomBytes) return; // Node 18 has less
  setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  collect();
  collect(); // what survived two collections is out of the way
}

delete require.cache[__filename];
module.exports = { rehearse, settle };
