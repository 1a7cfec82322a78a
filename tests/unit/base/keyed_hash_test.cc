#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kSlots = 1024;

// As a visitor can look for them, who has the same library.
std::vector<std::string> names_for_one_slot_of_std_hash(std::size_t count) {
  std::vector<std::string> names;
  for (int i = 0; names.size() < count; ++i) {
    std::string name = "HTTP_X" + std::to_string(i);
    if (std::hash<std::string_view>()(name) % kSlots == 7) names.push_back(std::move(name));
  }
  return names;
}

TEST(KeyedHash, spreads_names_that_were_chosen_for_one_slot) {
  std::set<std::size_t> slots;
  for (const std::string& name : names_for_one_slot_of_std_hash(512)) {
    slots.insert(base::KeyedHash()(name) % kSlots);
  }
  EXPECT_GT(slots.size(), 256u);
}

TEST(KeyedHash, is_the_same_for_the_same_text_and_another_for_another) {
  std::set<std::size_t> hashes;
  std::string text;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(base::KeyedHash()(text), base::KeyedHash()(std::string(text)));
    hashes.insert(base::KeyedHash()(text));
    hashes.insert(base::KeyedHash()(text + '\0'));
    text += 'a';
  }
  EXPECT_EQ(hashes.size(), 80u);
}

TEST(DrawnNumber, is_another_one_at_each_call) {
  EXPECT_NE(base::drawn_number(), base::drawn_number());
}

}  // namespace
