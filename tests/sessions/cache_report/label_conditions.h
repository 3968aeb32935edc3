// What each label of a lost token claims, looked up in sets of everything that was registered and
// computed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/command.h"
#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/cache_report/lookup_report.h"

namespace hybridscope::test {

class LabelConditions {
 public:
  explicit LabelConditions(const EngineConfig& config);

  // The claims of the report that are not true, one sentence each. Call before take(trace) and in
  // the order of the reports.
  std::vector<std::string> broken(const StepTrace& trace, const std::vector<AddRequest>& requests,
                                  const LookupReport& report);
  void take(const StepTrace& trace, const std::vector<AddRequest>& requests);

  const LostTokens& checked() const { return checked_; }  // by reason

 private:
  using Key = std::pair<Fingerprint, std::int32_t>;  // of a prefix with its look-ahead, in a group
  struct Lookup;

  const std::vector<Fingerprint>& prefixes_of(const AddRequest& request, RequestId id);
  Key key(const Lookup& lookup, std::int32_t num_tokens, std::size_t group) const;
  bool was_there(const Lookup& lookup, std::int32_t num_tokens, std::size_t group) const;
  bool is_missing(const Lookup& lookup, std::int32_t num_tokens, std::size_t group) const;
  std::int32_t attention_end(const Lookup& lookup, std::size_t group) const;
  bool attention_serves(const Lookup& lookup, std::int32_t num_tokens) const;
  bool has_state(const Lookup& lookup, std::int32_t num_tokens) const;
  bool was_computed(const Lookup& lookup, std::int32_t num_tokens) const;
  bool lacks_a_whole_block(const Lookup& lookup, std::int32_t num_tokens) const;
  bool lacks_something(const Lookup& lookup, std::int32_t num_tokens) const;

  EngineConfig config_;
  CacheRules rules_;
  std::map<std::int32_t, std::vector<Fingerprint>> prefixes_;  // by request: F(0), F(1), ...
  std::map<std::int32_t, std::int32_t> computed_;              // by request
  std::vector<RequestId> admitted_;
  std::set<Key> ever_;                             // registered before the step, with content
  std::map<std::int32_t, std::vector<Key>> keys_;  // of blocks, as the step began
  std::set<Key> lost_in_step_;                     // by blocks in the step being checked
  LostTokens checked_{};
};

}  // namespace hybridscope::test
