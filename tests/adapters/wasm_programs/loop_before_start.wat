;; Never comes to its _start.
(module
  (memory (export "memory") 1)
  (func $early (loop $again (br $again)))
  (start $early)
  (func (export "_start")))
