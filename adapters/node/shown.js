// What shows a value without asking for it by its name: descriptors, inspection, a class that is found at its
// instances or as another's base, a file's status. In a trial these end it, or lead to what ends it.
'use strict';
const { inspect } = require('util');

const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
const { apply } = Reflect;
const { custom } = inspect;

const kFileNames = ['atime', 'atimeMs', 'atimeNs']; // whoever reads it changes them, and no generation follows
const kFolderNames = [...['mtime', 'ctime', 'birthtime'].flatMap((name) => [name, `${name}Ms`, `${name}Ns`]),
                      ...kFileNames, 'size', 'blocks', 'nlink'];
const kOtherNames = [...kFolderNames, 'ino', 'dev'];

const hidden = new WeakMap(); // the names of an object's that show nothing
const guards = new Map(); // of classes
let end;

function begin(ends) {
  end = ends;
}

// An accessor stands for the object's value, as it were.
function answer(object, name, get, more = {}) {
  defineProperty(object, name, { configurable: true, enumerable: true, get, ...more });
  if (!hidden.has(object)) hidden.set(object, new Set());
  hidden.get(object).add(name);
}

function replace(object, name, value) {
  defineProperty(object, name, { ...getOwnPropertyDescriptor(object, name), value });
}

// guard stands for the class, wherever it is found.
function stand(class_, guard) {
  guards.set(class_, guard);
  const { prototype } = class_;
  const of = prototype && getOwnPropertyDescriptor(prototype, 'constructor');
  if (of?.value === class_ && of.configurable) replace(prototype, 'constructor', guard);
  return guard;
}

function guardBases() {
  for (const class_ of guards.keys()) {
    const guard = guards.get(getPrototypeOf(class_));
    if (guard !== undefined) setPrototypeOf(class_, guard);
  }
}

function isHidden(object, name) {
  return hidden.get(object)?.has(name) ?? false;
}

function guardDescriptors() {
  const looks = (holder, name, shows) => replace(holder, name, new Proxy(holder[name], {
    apply(target, self, values) {
      if (shows(self, values)) end(`looks at a descriptor of ${String(values[1] ?? values[0])}`);
      return apply(target, self, values);
    } }));
  const ofFirst = (_, [object, name]) => isHidden(object, name);
  looks(Object, 'getOwnPropertyDescriptor', ofFirst);
  looks(Reflect, 'getOwnPropertyDescriptor', ofFirst);
  looks(Object, 'getOwnPropertyDescriptors', (_, [object]) => hidden.has(object));
  looks(Object.prototype, '__lookupGetter__', (self, [name]) => isHidden(self, name));
}

// Inspection shows an accessor as one.
function guardInspection(object, name) {
  defineProperty(object, custom, { configurable: true, enumerable: false, get: () => end(`inspects ${name}`) });
}

function hideNames(status) {
  const names = status.isFile() || status.isSymbolicLink() ? kFileNames :
    status.isDirectory() ? kFolderNames : kOtherNames;
  for (const name of names) {
    if (name in status) answer(status, name, () => end(`looks at a file's ${name}`), { set() {} });
  }
  guardInspection(status, 'the status of a file');
}

function guardStatus(fs) {
  for (const name of ['statSync', 'lstatSync', 'fstatSync']) {
    replace(fs, name, new Proxy(fs[name], { apply(target, self, values) {
      const status = apply(target, self, values);
      if (status !== undefined) hideNames(status);
      return status;
    } }));
  }
}

delete require.cache[__filename];
module.exports = { answer, begin, guardBases, guardDescriptors, guardInspection, guardStatus, replace, stand };
