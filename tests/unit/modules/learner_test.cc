// With learn = "all" a program's own modules are accepted, whoever owns them.
#include "modules/learner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "limits/users.h"

namespace modules {
namespace {

class LearnerTest : public testing::Test {
 protected:
  LearnerTest() {
    char name[] = "/tmp/learner_test.XXXXXX";
    folders_.emplace_back(::mkdtemp(name));
  }
  ~LearnerTest() override { std::filesystem::remove_all(folders_.front()); }

  bool hear(const std::string& module) {
    const std::string file = folders_.front() + "/" + module + ".pm";
    std::ofstream(file) << "1;\n";
    return hear_of(module, file);
  }
  bool hear_of(const std::string& module, const std::string& file) {
    return learner_.hear(module + "\n" + file, {.language = worker::Language::perl,
                                                .folders = folders_,
                                                .learn = config::Learn::all,
                                                .user = user_});
  }

  std::vector<std::string> folders_;
  const limits::Identity user_ = limits::own_identity();
  const std::string program_ = "/program";
  Learner learner_{program_};
};

TEST_F(LearnerTest, learns_a_name_once) {
  EXPECT_FALSE(learner_.wants_generation());
  EXPECT_TRUE(hear("One"));
  EXPECT_TRUE(learner_.wants_generation());
  EXPECT_FALSE(hear("One"));
  EXPECT_EQ(learner_.names(), std::vector<std::string>{"One"});
}

TEST_F(LearnerTest, keeps_the_order_in_which_names_were_heard) {
  for (const char* name : {"Zoo", "One", "Bar", "One"}) hear(name);
  learner_.inherit({"Apple", "Zoo"});
  EXPECT_EQ(learner_.names(), (std::vector<std::string>{"Zoo", "One", "Bar", "Apple"}));
}

TEST_F(LearnerTest, believes_no_file_elsewhere) {
  EXPECT_FALSE(hear_of("Evil", "/nowhere/Evil.pm"));
  EXPECT_FALSE(learner_.wants_generation());
  EXPECT_TRUE(learner_.names().empty());
}

// A thousand modules arrive as a busy machine allows: a few hundred with each request.
TEST_F(LearnerTest, does_not_count_a_generation_for_many_names) {
  unsigned named = 0;
  for (unsigned i = 0; i < Learner::kGenerationsMax + 3; ++i) {
    for (unsigned j = 0; j < Learner::kManyNames; ++j) {
      ASSERT_TRUE(hear("Many" + std::to_string(named++)));
    }
    ASSERT_TRUE(learner_.wants_generation());
    learner_.count_generation();
    learner_.generation_begins();
  }
  ASSERT_TRUE(hear("Late"));
  EXPECT_TRUE(learner_.wants_generation());
}

TEST_F(LearnerTest, wants_so_many_generations_and_no_more_until_the_program_is_another) {
  for (unsigned i = 0; i < Learner::kGenerationsMax; ++i) {
    ASSERT_TRUE(hear("M" + std::to_string(i)));
    ASSERT_TRUE(learner_.wants_generation());
    learner_.count_generation();
    learner_.generation_begins();
    EXPECT_FALSE(learner_.wants_generation());
  }
  EXPECT_TRUE(hear("Late"));
  EXPECT_FALSE(learner_.wants_generation());
  learner_.begin_anew(Learner::Names::go);
  EXPECT_TRUE(learner_.names().empty());
  EXPECT_TRUE(hear("Late"));
  EXPECT_TRUE(learner_.wants_generation());
}

TEST_F(LearnerTest, inherits_names_that_are_names) {
  learner_.inherit({"POSIX", "-evil", "a,b", "/abs"});
  EXPECT_EQ(learner_.names(), std::vector<std::string>{"POSIX"});
  EXPECT_FALSE(learner_.wants_generation()) << "the next generation has them anyway";
  learner_.begin_anew(Learner::Names::stay);
  EXPECT_EQ(learner_.names().size(), 1u);
}

}  // namespace
}  // namespace modules
