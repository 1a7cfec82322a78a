#include "cli/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cli {
namespace {

using doctor::Finding;
using doctor::Mark;

constexpr std::size_t kAreaColumns = 10;
constexpr std::size_t kMarkColumns = 6;
constexpr std::array<Colour, doctor::kMarkNames.size()> kColours = {Colour::green, Colour::yellow,
                                                                    Colour::red};

// wrapped() counts colours as columns, so they are put in afterwards.
std::string finding_text(std::string_view area, const Finding& finding, const Terminal& terminal) {
  const auto mark = static_cast<std::size_t>(finding.mark);
  const std::string head =
      padded(area, kAreaColumns) + padded(doctor::kMarkNames[mark], kMarkColumns);
  std::string text = wrapped(head, finding.what, terminal);
  text.replace(
      0, head.size(),
      painted(padded(area, kAreaColumns), Colour::bold, terminal) +
          painted(padded(doctor::kMarkNames[mark], kMarkColumns), kColours[mark], terminal));
  if (finding.to_do.empty()) return text;
  const std::string arrow = terminal.charset == Charset::unicode ? "→ " : "> ";
  return text +
         wrapped(std::string(kAreaColumns + kMarkColumns, ' ') + arrow, finding.to_do, terminal);
}

}  // namespace

std::string doctor_report(const std::string& title, const doctor::Findings& findings,
                          const Terminal& terminal) {
  std::string text = wrapped("", title, terminal);
  const Finding* before = nullptr;
  for (const Finding& finding : findings) {
    const bool begins = before == nullptr || before->area != finding.area;
    const auto area = doctor::kAreaNames[static_cast<std::size_t>(finding.area)];
    text += finding_text(begins ? area : "", finding, terminal);
    before = &finding;
  }
  const auto wrong = std::ranges::count(findings, Mark::wrong, &Finding::mark);
  const auto notes = std::ranges::count(findings, Mark::note, &Finding::mark);
  const Colour colour = wrong > 0 ? Colour::red : Colour::green;
  const std::string sum = wrong == 0 ? "Nothing is wrong"
                                     : fmt::format("{} {} wrong", wrong, wrong == 1 ? "is" : "are");
  text += painted(notes == 0 ? sum + "." : fmt::format("{}; {} note(s).", sum, notes), colour,
                  terminal);
  return text + "\n";
}

}  // namespace cli
