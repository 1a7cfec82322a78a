// How much of the machine is free right now.
#pragma once

namespace base {

// The number of cores that this process may use, minus all tasks on the machine that are running or
// runnable, except this one; never below zero. If the kernel does not report the tasks: all cores.
unsigned idle_cores();

}  // namespace base
