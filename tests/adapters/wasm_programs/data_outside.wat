;; Its data does not fit into its memory.
(module
  (memory (export "memory") 1)
  (data (i32.const 65530) "too long for it")
  (func (export "_start")))
