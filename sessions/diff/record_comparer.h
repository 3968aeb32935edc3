// Finds every field in which two records of one step differ. Elements are matched by request name
// and the rest of their key (group, column, launch), never by id or row number.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sessions/diff/element_matcher.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// The sections to compare.
using SectionMask = std::array<bool, kNumStepSections>;

constexpr bool is_compared(const SectionMask& sections, StepSection section) {
  return sections[static_cast<std::size_t>(section)];
}

// Do both sides' digests have the same version?
enum class DigestPair : std::uint8_t { comparable, of_two_versions };

class RecordComparer {
 public:
  // `level`: the lower level of the two sides. `names` and `rules` must outlive this.
  RecordComparer(RequestNumbers& names, const IgnoreRules& rules, RecordLevel level,
                 DigestPair digests = DigestPair::comparable);

  // Appends to `found`. Worker tables and writes have no digest, so they are compared for any
  // `sections`. SessionDiff skips steps whose digests are all equal, so their differences appear
  // only in steps that also differ in a digest. A live column of a worker's table that differs from
  // the scheduler's is a finding, and findings have a digest.
  void compare(const StepRecord& a, const StepRecord& b, const SectionMask& sections,
               std::vector<FieldDifference>& found);

 private:
  void compare_step(const StepTrace& a, const StepTrace& b, const SectionMask& sections);
  void compare_schedule(const StepTrace& a, const StepTrace& b);
  void compare_lookups(const StepTrace& a, const StepTrace& b);
  void compare_rows(const StepTrace& a, const StepTrace& b, const SectionMask& sections);
  void compare_copies(const StepTrace& a, const StepTrace& b, const SectionMask& sections);
  void compare_blocks(const StepRecord& a, const StepRecord& b, const SectionMask& sections);
  void compare_metadata(const StepRecord& a, const StepRecord& b);
  void compare_findings(const StepRecord& a, const StepRecord& b);
  void add_finding(int side, const Finding& finding, std::size_t place);
  void compare_writes(const StepRecord& a, const StepRecord& b);
  void compare_array(const ListElement& element, const ArrayRecord& a, const ArrayRecord& b);
  // Sections whose digests differ although nothing recorded at this level does.
  void compare_digests(const StepRecord& a, const StepRecord& b, const SectionMask& sections,
                       const std::vector<FieldDifference>& found);

  ElementMatcher matcher_;
  RecordLevel level_;
  DigestPair digests_;
  std::vector<std::string_view> array_names_;
};

}  // namespace hybridscope
