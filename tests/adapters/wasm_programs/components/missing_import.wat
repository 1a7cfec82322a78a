;; Imports what nobody has.
(component
  (import "example:unheard/of" (instance (export "f" (func))))
  (core module $program
    (func (export "run") (result i32) i32.const 0))
  (core instance $program (instantiate $program))
  (func $run (result (result)) (canon lift (core func $program "run")))
  (instance $exported (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $exported)))
