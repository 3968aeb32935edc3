// What a comparison leaves out, given as rules by the user.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/diff/diff_lists.h"

namespace hybridscope {

class IgnoreRules {
 public:
  IgnoreRules();

  // Rules: "blocks" (a section), "block_events" (a list), "rows.num_draft_count" (a field),
  // "request:B", "step:5", "step:1-10". Error: an unknown rule; the message lists the known ones.
  static Result<IgnoreRules> parse(std::span<const std::string> rules);

  // Leaves out what only one model runner has: V2's slots, the entries of V2's rows past the
  // request's blocks, and the terms of copy decisions that only one runner's rule reads. The copies
  // themselves and the scheduler's tables are compared.
  void leave_out_runners();

  bool ignores_field(DiffList list, std::size_t field) const {
    const auto& fields = fields_[static_cast<std::size_t>(list)];
    return field < fields.size() && fields[field];
  }
  bool ignores_section(DiffSection section) const {  // all of its fields
    return sections_[static_cast<std::size_t>(section)];
  }
  bool ignores_request(std::string_view name) const;
  bool ignores_step(std::int64_t step) const;
  // Some of the section's fields or some requests are ignored, so its digest is not enough.
  bool ignores_part_of(DiffSection section) const;

 private:
  Status add(std::string_view rule);
  bool add_section_or_list(std::string_view name);
  Status add_field(std::string_view list, std::string_view field);

  std::vector<bool> sections_;             // [kNumDiffSections]
  std::vector<bool> partly_;               // [kNumDiffSections]
  std::vector<std::vector<bool>> fields_;  // [kNumDiffLists][field_names]
  std::vector<std::string> requests_;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps_;  // [first, last]
};

}  // namespace hybridscope
