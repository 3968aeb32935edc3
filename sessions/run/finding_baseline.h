// Findings that runs are known to have: those of a baseline do not fail, others do (run --baseline,
// format in docs/ci.md).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

inline constexpr std::int32_t kBaselineVersion = 1;
// The most steps that a file may have, those of all its findings counted.
inline constexpr std::int64_t kMostBaselineSteps = 1'000'000;

class FindingBaseline {
 public:
  // Errors: the file cannot be read, is no baseline or has more than kMostBaselineSteps; with the
  // place.
  static Result<FindingBaseline> read(const std::string& path);

  void add(std::string_view run, const Finding& finding, const Names& names);
  // Is a finding like it in the baseline, of the run with this name and in the same step?
  bool has(std::string_view run, const Finding& finding, const Names& names);
  // Findings of the run that has() was not asked about, each step counted.
  std::int64_t num_unseen(std::string_view run) const;

  // The steps of all its findings; a file with more than kMostBaselineSteps cannot be read again.
  std::int64_t num_steps() const;
  // The file: one line a finding, ascending by run, rule, detail, request, group and
  // content.
  std::string text() const;

 private:
  struct Key {
    std::string run{};
    std::string rule{};
    std::string detail{};   // the variant of the rule; may be empty
    std::string request{};  // empty: about none
    std::int32_t group = -1;
    std::string content{};  // empty: about none
    auto operator<=>(const Key&) const = default;
  };
  static Key read_key(const JsonValue& element);
  static Key key_of(std::string_view run, const Finding& finding, const Names& names);
  static std::string line_of(const Key& key, const std::map<std::int64_t, bool>& steps);

  std::map<Key, std::map<std::int64_t, bool>> steps_;  // true: has() was asked about it
};

}  // namespace hybridscope
