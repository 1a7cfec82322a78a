;; Needs a function of WASI's, but with another type.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "_start") (drop (call $write (i32.const 1)))))
