// The end of a process that serves one request. Its answer is complete when 'exit' has been emitted and the
// last microtask has run; then Node frees its heap and ends its threads, which nobody needs to wait for.
// For that it enters its loop once more, and there the library sends DONE.
'use strict';

const { getOwnPropertyDescriptor } = Object;
const { apply, defineProperty, deleteProperty, set } = Reflect;
const { Error, Promise } = globalThis;
const settled = Promise.resolve();
const { then } = Promise.prototype;

// How many functions are on the stack, including this one, up to five; something else if the program has frozen
// what tells that.
function depth() {
  const own = getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  const { stackTraceLimit } = Error;
  defineProperty(Error, 'prepareStackTrace',
                 { __proto__: null, configurable: true, value: (_, calls) => calls.length });
  set(Error, 'stackTraceLimit', 5);
  const { stack } = new Error();
  set(Error, 'stackTraceLimit', stackTraceLimit);
  if (own === undefined) deleteProperty(Error, 'prepareStackTrace');
  else defineProperty(Error, 'prepareStackTrace', { __proto__: null, ...own });
  return stack;
}

// The code that emits 'exit' reads process.emit first; only Node does so with no JavaScript below it, when
// the loop is empty. process.emit itself stays as it is: no stack trace shows this file.
function watch(call) {
  const holder = Object.getPrototypeOf(process);
  const { emit } = holder;
  const complete = () => call(`done/${process.exitCode ?? 0}`);
  let isTold = false;
  defineProperty(holder, 'emit', { __proto__: null, configurable: true, enumerable: false,
    get() {
      if (process._exiting && !isTold) {
        isTold = true;
        // After the listeners, where Node runs the program's own microtasks.
        if (depth() === 2) apply(then, settled, [complete]);
      }
      return emit;
    },
    set(value) {
      defineProperty(this, 'emit', { __proto__: null, value, configurable: true, enumerable: true, writable: true });
    } });
  depth(); // compiles it now
}

delete require.cache[__filename];
module.exports = { watch };
