;; Exports no program.
(component)
