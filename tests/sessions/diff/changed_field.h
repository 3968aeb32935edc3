// A record with one field changed, any of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sessions/diff/diff_lists.h"
#include "sessions/record/step_record.h"

namespace hybridscope::test {

struct ChangedField {
  DiffList list;
  std::string field;
};

// Changes field number `chosen`; empty if there are fewer fields.
std::optional<ChangedField> change_field(StepRecord& record, std::int32_t chosen);
std::int32_t num_fields(StepRecord& record);

}  // namespace hybridscope::test
