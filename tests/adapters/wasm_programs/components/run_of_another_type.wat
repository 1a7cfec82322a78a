;; Its run returns a number.
(component
  (core module $program
    (func (export "run") (result i32) i32.const 0))
  (core instance $program (instantiate $program))
  (func $run (result u32) (canon lift (core func $program "run")))
  (instance $exported (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $exported)))
