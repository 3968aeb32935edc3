// Findings of a whole run: every one counted, the first of each rule kept.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

inline constexpr std::size_t kMaxFindingsShown = 100;  // in all
inline constexpr std::int64_t kMaxFindingsARule = 20;  // so that no rule hides another

// Every finding of one rule, kept or not.
struct RuleCount {
  std::int64_t found = 0;
  std::int64_t unexpected = 0;  // that the scenario did not say would occur
};

struct KeptFinding {
  Finding finding;
  bool expected = false;
  std::string text;
  nlohmann::ordered_json json;
};

class FindingList {
 public:
  FindingList();

  void add(const Finding& finding, bool expected, const Names& names);

  const RuleCount& count(Rule rule) const { return rules_[static_cast<std::size_t>(rule)]; }
  std::int64_t num_found(Severity severity) const;
  std::int64_t num_unexpected(Severity severity) const;

  // The first kMaxFindingsARule of each rule, as they came.
  const std::vector<KeptFinding>& kept() const { return kept_; }
  // Errors first, at most kMaxFindingsShown.
  std::vector<const KeptFinding*> shown() const;
  // "label-mismatch: the first 20 of 1,204 are shown", one line a rule of which not all are kept.
  std::string format_left_out() const;
  // {rule: number found}, rules that were found only.
  nlohmann::ordered_json by_rule() const;

 private:
  std::vector<RuleCount> rules_;  // [rule_table()]
  std::vector<KeptFinding> kept_;
};

// 12031 -> "12,031".
std::string grouped_number(std::int64_t value);
// "1 finding", "2 findings".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace hybridscope
