// Turns what a language model's run found into findings of the rules with Evidence::numbers: of
// each request the first difference, for what follows of it is the same fault.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/check/check_context.h"
#include "core/check/finding.h"
#include "core/language/language_run.h"

namespace hybridscope {

class LanguageFindings {
 public:
  // Appends those of a step, which was executed on `state`.
  void append(const LanguageStep& step, std::int64_t number, const CheckState& state,
              std::vector<Finding>& out);

 private:
  std::set<RequestId> differ_;  // requests whose run has left the lone run
};

}  // namespace hybridscope
