// The end of a process that serves one request. Its answer is complete when 'exit' has been told and the
// last microtask has run; then Node takes its heap and its threads apart, for which nobody need wait. It
// enters its loop once more for that, which is where the library says done.
'use strict';

const { defineProperty, getOwnPropertyDescriptor } = Object;
const { Error, Promise } = globalThis;
const settled = Promise.resolve();
const { then } = Promise.prototype;

// How many functions stand on the stack, this one included, and at most five.
function depth() {
  const own = getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  const { stackTraceLimit } = Error;
  defineProperty(Error, 'prepareStackTrace', { configurable: true, value: (_, calls) => calls.length });
  Error.stackTraceLimit = 5;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  if (own === undefined) delete Error.prepareStackTrace;
  else defineProperty(Error, 'prepareStackTrace', own);
  return stack;
}

// Whoever tells 'exit' asks for process.emit first; nobody else does so with nothing below it than Node when
// the loop is empty. It stays what it is: no stack trace shows us.
function watch(call) {
  const holder = Object.getPrototypeOf(process);
  const { emit } = holder;
  const complete = () => call(`done/${process.exitCode ?? 0}`);
  let isTold = false;
  defineProperty(holder, 'emit', { configurable: true, enumerable: false,
    get() {
      if (process._exiting && !isTold) {
        isTold = true;
        // Behind the listeners, where Node runs the program's own microtasks.
        if (depth() === 2) Reflect.apply(then, settled, [complete]);
      }
      return emit;
    },
    set(value) {
      defineProperty(this, 'emit', { value, configurable: true, enumerable: true, writable: true });
    } });
  depth(); // is compiled now
}

delete require.cache[__filename];
module.exports = { watch };
