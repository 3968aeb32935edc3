// Totals of each request of a session. They can still be compared when single steps cannot (other
// modes, block sizes, numbers of drafts).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

struct RequestTotals {
  std::int64_t num_prompt_tokens = 0;
  std::int64_t num_hit_tokens = 0;     // sum over its admissions, after a preemption too
  std::int64_t num_output_tokens = 0;  // appended
  std::int64_t num_preemptions = 0;
  std::int64_t num_steps = 0;               // steps in which it had a row
  std::int64_t steps_until_finished = -1;   // from its arrival; -1: it did not finish
  std::int64_t num_state_copies = 0;        // over all mamba groups
  std::map<Rule, std::int64_t> findings{};  // by rule
  std::int64_t arrived = 0;                 // first step that names it
};

template <class T, class Visit>
void for_each_total_field(T& totals, Visit&& visit) {
  visit("num_prompt_tokens", totals.num_prompt_tokens);
  visit("num_hit_tokens", totals.num_hit_tokens);
  visit("num_output_tokens", totals.num_output_tokens);
  visit("num_preemptions", totals.num_preemptions);
  visit("num_steps", totals.num_steps);
  visit("steps_until_finished", totals.steps_until_finished);
  visit("num_state_copies", totals.num_state_copies);
}

struct SessionTotals {
  std::map<std::string, RequestTotals, std::less<>> requests;  // empty at level counts
  RequestTotals all;  // sums; its steps_until_finished is the number of the last step
  std::int64_t num_finished = 0;
};

// Reads the source to its end.
Result<SessionTotals> total_session(StepSource& source);

struct TotalDifference {
  std::string request;  // empty: the whole session
  std::string field;    // "num_hit_tokens", "findings.label-mismatch", "present"
  std::int64_t a = 0;
  std::int64_t b = 0;
};

// The totals of the sessions first, then requests by name.
std::vector<TotalDifference> compare_totals(const SessionTotals& a, const SessionTotals& b);

}  // namespace hybridscope
