// A pool of one program in a fake world.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fakes/world.h"
#include "pool/pool.h"

namespace pool {

using fakes::Client;
using fakes::Kind;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using State = Client::State;

class PoolTest : public testing::Test {
 protected:
  ~PoolTest() override {
    for (const std::string& fault : processes_.faults()) ADD_FAILURE() << fault;
  }
  void pass(base::TimePoint::duration time) { ASSERT_TRUE(world_.advance(time)); }
  Client& request() { return world_.request(program_); }
  PoolStatus status() { return world_.status(program_); }

  fakes::World world_;
  fakes::Processes& processes_ = world_.processes();
  const std::string program_ = world_.add_program();
};

}  // namespace pool
