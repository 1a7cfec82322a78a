// All that is known of one program's arms, and of all programs'.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "compare/figures.h"
#include "compare/namespace.h"
#include "compare/promotion.h"
#include "compare/shadow_record.h"
#include "compare/split.h"

namespace compare {

struct Comparison {
  std::array<Figures, kArms> arms;
  // Of the shadow's runs on the persistent side, which no client waited for: what it would bring.
  std::array<Figures, kArms> shadow_arms;
  Splitter splitter;
  Splitter sampler;  // which requests are shadowed
  ShadowRecord shadow;
  Promotion promotion;
  // What promotion has begun with: the stage (nullopt: there is no promotion), and the version of
  // the program's file.
  std::optional<Stage> promoted_from;
  std::uint64_t version = 0;
};

// By program (its path). At most `most`, at least 1: the one that was asked for longest
// ago is forgotten.
class Comparisons {
 public:
  // The reference is valid until the next call of of() or limit().
  Comparison& of(const std::string& program);
  // nullptr if there is none; not counted as asked for.
  const Comparison* find(const std::string& program) const;
  void limit(std::size_t most);
  std::size_t size() const { return newest_first_.size(); }

 private:
  void forget_oldest();

  struct Entry {
    std::string program;
    std::unique_ptr<Comparison> comparison;
  };
  std::size_t most_ = 1000;
  std::list<Entry> newest_first_;
  std::unordered_map<std::string, std::list<Entry>::iterator> by_program_;
};

}  // namespace compare
