// When modules have been loaded. Node's own loader says so by `module.loaded = true`; until then that is an
// accessor, in the same place among the module's properties, and no function is wrapped.
'use strict';
const Module = require('module');

const { defineProperty } = Object;
const kPlain = { writable: true, enumerable: true, configurable: true };

// onLoaded(module) is called after each, inner modules first. Returns a function that ends it, after which
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
        if (value === true) onLoaded(module);
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

// Calls then() once so many have been loaded.
function after(count, then) {
  let left = count;
  const end = watch(() => {
    if (--left > 0) return;
    end();
    then();
  });
}

delete require.cache[__filename];
module.exports = { watch, after };
