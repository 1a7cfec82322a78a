#include "admin/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace admin {
namespace {

struct Bound {
  std::uint64_t microseconds;
  std::string_view seconds;  // in canonical form, as OpenMetrics 1.0 requires for `le`
};

// From the tenth of a millisecond of a warm worker to the minute of a report.
constexpr std::array kBounds = {
    Bound{100, "0.0001"},      Bound{250, "0.00025"},     Bound{500, "0.0005"},
    Bound{1'000, "0.001"},     Bound{2'500, "0.0025"},    Bound{5'000, "0.005"},
    Bound{10'000, "0.01"},     Bound{25'000, "0.025"},    Bound{50'000, "0.05"},
    Bound{100'000, "0.1"},     Bound{250'000, "0.25"},    Bound{500'000, "0.5"},
    Bound{1'000'000, "1.0"},   Bound{2'500'000, "2.5"},   Bound{5'000'000, "5.0"},
    Bound{10'000'000, "10.0"}, Bound{30'000'000, "30.0"}, Bound{60'000'000, "60.0"}};

// OpenMetrics is UTF-8: with one byte that is not, a scrape of all programs would be refused. Such
// a byte is shown as \xff, with the backslash escaped like any other.
std::string escaped(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    const std::size_t size = base::utf8_size(value);
    const char first = value.front();
    if (size == 0) {
      out += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(first));
    } else if (first == '\n') {
      out += "\\n";
    } else {
      if (first == '\\' || first == '"') out += '\\';
      out += value.substr(0, size);
    }
    value.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

}  // namespace

Labels Labels::with(std::string_view name, std::string_view value) const {
  Labels more = *this;
  more.text_ += fmt::format("{}{}=\"{}\"", text_.empty() ? "" : ",", name, escaped(value));
  return more;
}

void MetricsText::begin(const Family& family) {
  name_ = family.name;
  suffix_ = family.type == "counter" ? "_total" : family.type == "info" ? "_info" : "";
  text_ += fmt::format("# TYPE {} {}\n", name_, family.type);
  if (!family.unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name_, family.unit);
  text_ += fmt::format("# HELP {} {}\n", name_, escaped(family.help));
}

void MetricsText::line(std::string_view suffix, const Labels& labels, std::string_view value) {
  text_.append(name_).append(suffix);
  if (!labels.text().empty()) text_.append("{").append(labels.text()).append("}");
  text_.append(" ").append(value).append("\n");
}

void MetricsText::sample(const Labels& labels, std::uint64_t value) {
  line(suffix_, labels, fmt::format_int(value).c_str());
}

void MetricsText::seconds(const Labels& labels, std::uint64_t microseconds) {
  line(suffix_, labels,
       fmt::format("{}.{:06}", microseconds / 1'000'000, microseconds % 1'000'000));
}

void MetricsText::histogram(const Labels& labels, const compare::Histogram& values) {
  // A thousand programs have a hundred thousand of these lines: the common part is made once.
  const std::string start =
      fmt::format("{}_bucket{{{}{}le=\"", name_, labels.text(), labels.text().empty() ? "" : ",");
  const auto bucket = [&](std::string_view bound, std::uint64_t count) {
    text_.append(start).append(bound).append("\"} ");
    text_.append(fmt::format_int(count).c_str()).append("\n");
  };
  for (const Bound& bound : kBounds) bucket(bound.seconds, values.count_up_to(bound.microseconds));
  bucket("+Inf", values.count());
  const std::string count = fmt::format("{}", values.count());
  line("_count", labels, count);
  line("_sum", labels, fmt::format("{:.6f}", static_cast<double>(values.sum()) / 1e6));
}

std::string MetricsText::finish() {
  return std::move(text_ += "# EOF\n");
}

}  // namespace admin
