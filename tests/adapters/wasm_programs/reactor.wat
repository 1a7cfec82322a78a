;; A library: nothing to run.
(module
  (memory (export "memory") 1)
  (func (export "_initialize"))
  (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
