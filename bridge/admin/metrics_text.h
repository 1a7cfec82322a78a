// Writes OpenMetrics text (OpenMetrics 1.0, "Text format"): families, their samples, the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "compare/histogram.h"

namespace admin {

// The labels of a sample, escaped: name="value",name="value".
class Labels {
 public:
  Labels() = default;
  // The same labels and one more.
  Labels with(std::string_view name, std::string_view value) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Writes one family at a time: begin(), then all of its samples.
class MetricsText {
 public:
  struct Family {
    std::string_view name;  // ends with its unit; without "_total"
    std::string_view type;  // "counter", "gauge", "histogram", "stateset", "info"
    std::string_view help;
    std::string_view unit = {};  // "seconds", "bytes"
  };

  void begin(const Family& family);
  // Writes a sample of the family. A counter's name gets "_total" and an info's "_info".
  void sample(const Labels& labels, std::uint64_t value);
  // The same for a family whose unit is seconds.
  void seconds(const Labels& labels, std::uint64_t microseconds);
  // values are in microseconds; the family's unit is seconds.
  void histogram(const Labels& labels, const compare::Histogram& values);

  std::string finish();

 private:
  void line(std::string_view suffix, const Labels& labels, std::string_view value);

  std::string text_;
  std::string name_;
  std::string suffix_;
};

}  // namespace admin
