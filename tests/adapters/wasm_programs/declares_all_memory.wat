;; Begins with 4 GiB, and uses none of it.
(module
  (memory (export "memory") 65536)
  (func (export "_start")))
