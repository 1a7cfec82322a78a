// Everything known about the arms of one program, and of all programs.
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
  // The shadow's runs on the persistent side, for which no client waited: what it would bring.
  std::array<Figures, kArms> shadow_arms;
  Splitter splitter;
  Splitter sampler;  // which requests are shadowed
  ShadowRecord shadow;
  Promotion promotion;
  // What promotion began with: the stage (nullopt: there is no promotion) and the version of the
  // program's file.
  std::optional<Stage> promoted_from;
  std::uint64_t version = 0;
};

// Holds a Comparison for each program (by path): at most `most`, which is at least 1. The one that
// was asked for longest ago is forgotten first.
class Comparisons {
 public:
  // The reference is valid until the next call of of() or limit().
  Comparison& of(const std::string& program);
  // nullptr if there is none; this does not count as asking for it.
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
