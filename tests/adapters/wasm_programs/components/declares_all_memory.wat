;; Declares as much memory as there can be.
(component
  (core module $program (memory 65536)
    (func (export "run") (result i32) i32.const 0))
  (core instance $program (instantiate $program))
  (func $run (result (result)) (canon lift (core func $program "run")))
  (instance $exported (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $exported)))
