;; A program for a newer WASI.
(component
  (core module $program
    (func (export "run") (result i32) i32.const 0))
  (core instance $program (instantiate $program))
  (func $run (result (result)) (canon lift (core func $program "run")))
  (instance $exported (export "run" (func $run)))
  (export "wasi:cli/run@0.3.0" (instance $exported)))
