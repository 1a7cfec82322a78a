;; Needs a function that nobody has.
(module
  (import "env" "unheard_of" (func $unheard_of))
  (memory (export "memory") 1)
  (func (export "_start") (call $unheard_of)))
