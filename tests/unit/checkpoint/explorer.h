// Exhaustive exploration of a small model of a protocol between threads: all interleavings, one
// atomic action at a time. States are values and are compared by their bytes, so each is visited
// once however many ways lead to it. The search is breadth-first: the path that it returns to a
// fault is a shortest one. (C. Baier, J.-P. Katoen, "Principles of Model Checking", MIT Press 2008,
// chapter 3.)
//
// A model is a value with these members:
//
//     using State = ...;                  of bytes only, with no padding
//     State first() const;
//     void moves(const State&, Moves<State>&) const;    adds what each thread can do next
//     const char* fault(const State&) const;            what is wrong in this state, or nullptr
//     bool is_over(const State&) const;                 everything that was begun has ended
//
// Faults are: a state that fault() names, and a state from which no way leads to one that is over.
// The latter includes a lost wake-up and a thread that waits for ever. What is not found: a way
// that goes round in a circle although another one would lead out of it, since that is a matter of
// scheduling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace model {

// One atomic action, with the code that it stands for: text of a function of adapters/checkpoint/,
// which sources.h looks for. Actions of the kernel's or of a program's have no file.
struct Step {
  std::string_view what;
  std::string_view file = {};
  std::string_view function = {};
  std::string_view code = {};
};

template <typename State>
struct Move {
  const Step* step;
  State after;
};

template <typename State>
class Moves {
 public:
  // step must outlive the exploration.
  void add(const Step& step, const State& after) { list_.push_back({&step, after}); }
  const std::vector<Move<State>>& list() const { return list_; }
  void clear() { list_.clear(); }

 private:
  std::vector<Move<State>> list_;
};

struct Found {
  std::size_t states = 0;
  std::set<const Step*> steps;  // that were taken
  std::string fault;            // empty: none
  std::string path;             // the actions that lead to it, one a line
};

template <typename Model>
class Explorer {
 public:
  using State = typename Model::State;
  static_assert(std::has_unique_object_representations_v<State>, "states are compared by bytes");

  explicit Explorer(Model model) : model_(std::move(model)) {}

  Found explore() {
    visit(model_.first(), kNone, nullptr);
    Moves<State> moves;
    for (std::uint32_t at = 0; at < visited_.size(); ++at) {
      if (const char* fault = model_.fault(visited_[at].state)) return found(at, fault);
      moves.clear();
      model_.moves(visited_[at].state, moves);
      for (const auto& move : moves.list()) {
        steps_.insert(move.step);
        edges_.emplace_back(visit(move.after, at, move.step), at);
      }
    }
    return look_for_dead_ends();
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Visited {
    State state;
    std::uint32_t from;
    const Step* by;
  };
  struct BytesHash {
    std::size_t operator()(const State& state) const {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(&state), sizeof state});
    }
  };

  std::uint32_t visit(const State& state, std::uint32_t from, const Step* by) {
    auto [place, is_new] = places_.try_emplace(state, static_cast<std::uint32_t>(visited_.size()));
    if (is_new) visited_.push_back({state, from, by});
    return place->second;
  }

  // Goes backward from the states that are over: what it does not reach has no way to one of them.
  Found look_for_dead_ends() const {
    std::vector<std::vector<std::uint32_t>> before(visited_.size());
    for (auto [to, from] : edges_) before[to].push_back(from);
    std::vector<bool> can_end(visited_.size());
    std::vector<std::uint32_t> open;
    for (std::uint32_t at = 0; at < visited_.size(); ++at) {
      if (model_.is_over(visited_[at].state)) open.push_back(at), can_end[at] = true;
    }
    while (!open.empty()) {
      std::uint32_t at = open.back();
      open.pop_back();
      for (std::uint32_t from : before[at]) {
        if (!can_end[from]) open.push_back(from), can_end[from] = true;
      }
    }
    for (std::uint32_t at = 0; at < visited_.size(); ++at) {
      if (!can_end[at]) return found(at, "something waits for ever");
    }
    return {.states = visited_.size(), .steps = steps_, .fault = {}, .path = {}};
  }

  Found found(std::uint32_t at, const char* fault) const {
    Found result{.states = visited_.size(), .steps = steps_, .fault = fault, .path = {}};
    for (; visited_[at].by != nullptr; at = visited_[at].from) {
      result.path = std::string(visited_[at].by->what) + "\n" + result.path;
    }
    return result;
  }

  Model model_;
  std::vector<Visited> visited_;
  std::set<const Step*> steps_;
  std::unordered_map<State, std::uint32_t, BytesHash> places_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from
};

template <typename Model>
Found explore(Model model) {
  return Explorer<Model>(std::move(model)).explore();
}

}  // namespace model
