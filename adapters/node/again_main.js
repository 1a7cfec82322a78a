// Under `none`: runs the program's main module again in a process that has run it before, as Node's loader
// does, except that one text is compiled only once. What else the loader does, only Node knows; where any
// of it may be needed, Node runs the module.
'use strict';
const fs = require('fs');
const Module = require('module');
const path = require('path');
const vm = require('vm');

const kParameters = ['exports', 'require', 'module', '__filename', '__dirname'];
// Switches under which the loader does more.
const kSwitches = /source-map|policy|loader|inspect|experimental|import/;

const isPlain = !kSwitches.test(`${process.execArgv} ${process.env.NODE_OPTIONS}`);
let last = { text: undefined, run: undefined };

function compile(text, filename) {
  if (/\bimport\b/.test(text)) return undefined; // only the loader can give it import()
  try {
    return vm.compileFunction(text.replace(/^\uFEFF/, ''), kParameters, { filename });
  } catch {
    return undefined; // Node reports what is wrong with it
  }
}

// Like the loader's own.
function requireOf(module) {
  function require(id) {
    return module.require(id);
  }
  function resolve(id, options) {
    return Module._resolveFilename(id, module, false, options);
  }
  function paths(id) {
    return Module._resolveLookupPaths(id, module);
  }
  resolve.paths = paths;
  return Object.assign(require, { resolve, main: module, extensions: Module._extensions,
                                  cache: Module._cache });
}

// What the loader records about a main module that is running or has run.
function copyNotes(from, to, isExecuting) {
  for (const symbol of Object.getOwnPropertySymbols(from)) {
    if (symbol.description === 'kIsExecuting') to[symbol] = isExecuting;
    else if (typeof from[symbol] === 'boolean') to[symbol] = from[symbol];
  }
}

function run(first, filename) {
  const dirname = path.dirname(filename);
  const module = new Module(filename, null);
  process.mainModule = module;
  module.id = '.';
  copyNotes(first, module, true);
  Module._cache[filename] = module;
  module.filename = filename;
  module.paths = Module._nodeModulePaths(dirname);
  last.run.call(module.exports, module.exports, requireOf(module), module, filename, dirname);
  copyNotes(first, module, false);
  module.loaded = true;
}

// first: the main module that Node ran.
function runMain(first) {
  const { filename } = first;
  const text = isPlain ? fs.readFileSync(filename, 'utf8') : undefined;
  if (text !== last.text) last = { text, run: text && compile(text, filename) };
  if (last.run === undefined) return Module.runMain();
  run(first, filename);
}

delete require.cache[__filename];
module.exports = { runMain };
