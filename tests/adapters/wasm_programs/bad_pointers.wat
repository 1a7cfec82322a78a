;; Gives WASI places outside the memory; each must be refused with an error, and the last line is printed.
(module
  (import "wasi_snapshot_preview1" "fd_write"
    (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read"
    (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get"
    (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\20\00\00\00\2d\00\00\00")            ;; the last line
  (data (i32.const 8) "\00\ff\ff\ff\00\01\00\00")            ;; a buffer outside
  (data (i32.const 16) "\20\00\00\00\ff\ff\ff\ff")           ;; one that is too long
  (data (i32.const 32) "Content-Type: text/plain\r\n\r\nstill here, well\n")
  (func (export "_start")
    (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 1024)))
    (drop (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 1024)))
    (drop (call $write (i32.const 1) (i32.const -8) (i32.const 1) (i32.const 1024)))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const -1) (i32.const 1024)))
    (drop (call $read (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 1024)))
    (drop (call $random (i32.const 65535) (i32.const 2)))
    (drop (call $random (i32.const 0x10000) (i32.const -1)))
    (drop (call $environ (i32.const -4) (i32.const -4)))
    (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 65533)))
    (drop (call $clock (i32.const 99) (i64.const 0) (i32.const 1024)))
    (drop (call $poll (i32.const 65530) (i32.const 1024) (i32.const -1) (i32.const 1024)))
    (drop (call $poll (i32.const 0) (i32.const 1024) (i32.const 0) (i32.const 1024)))
    (drop (call $open (i32.const 3) (i32.const 0) (i32.const -1) (i32.const -1) (i32.const -1)
                      (i64.const -1) (i64.const -1) (i32.const -1) (i32.const 1024)))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 1024)))))
