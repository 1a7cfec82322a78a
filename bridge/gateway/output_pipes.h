// Our ends of the pipes into which a program writes: its standard output and its standard error.
#pragma once

#include <functional>
#include <memory>

#include "base/unique_fd.h"
#include "loop/fd_watch.h"

namespace gateway {

class OutputPipes {
 public:
  // on_output, on_errors: that pipe can be read, or is at its end. They run on the loop, once the
  // pipes are watched.
  OutputPipes(loop::Loop& loop, std::function<void()> on_output, std::function<void()> on_errors);

  // ours: standard output and standard error; they must not block. Those from before are closed.
  void connect(base::FdPair ours);
  // From now on the loop watches those that are open, for what ask() says.
  void watch();
  // loop::kReadable or loop::kNothing for each; has no effect before watch().
  void ask(unsigned output, unsigned errors);

  int output() const { return output_.fd.get(); }  // -1: closed
  int errors() const { return errors_.fd.get(); }
  void close_output() { output_.close(); }
  void close_errors() { errors_.close(); }

  // What is in them at this moment. open: neither was closed, by us or by all who could write;
  // output_open: that one.
  struct Rest {
    bool output, errors, open, output_open;
  };
  Rest rest() const;
  // How many bytes of output are in its pipe; 0 if it is closed.
  std::size_t output_bytes() const;

  // Hands both over; they are no longer watched.
  base::FdPair release();

 private:
  struct Pipe {
    base::UniqueFd fd;
    std::unique_ptr<loop::FdWatch> watch;
    std::function<void()> on_ready;

    void watch_by(loop::Loop& loop);
    void close();
    base::UniqueFd release();
  };

  loop::Loop& loop_;
  Pipe output_, errors_;
};

}  // namespace gateway
