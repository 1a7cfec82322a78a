// Whether what a command printed has arrived: a full disk or a closed descriptor must not look like
// success, nor end the command by abort().
#pragma once

#include <functional>

namespace cli {

// Makes descriptors 0 to 2 exist, so that no socket or pipe gets their numbers. A closed one
// becomes /dev/null, open for reading only: what is printed there fails as it did.
void open_missing_streams();

// Runs a command, or what is left of one, and writes out what it has printed. Returns its exit
// code; 1 instead of 0 if that could not be written, with the reason on standard error. If nobody
// reads a pipe any more (`| head`), nothing is wrong.
int exit_code_of(const std::function<int()>& command);

}  // namespace cli
