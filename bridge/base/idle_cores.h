// How much of the machine is free at this moment.
#pragma once

namespace base {

// Cores that this process may use less the tasks, anyone's, that run or want to (this one left
// out); never below zero. If the kernel does not tell what runs, all of them.
unsigned idle_cores();

}  // namespace base
