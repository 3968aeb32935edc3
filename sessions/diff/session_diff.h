// Walks two sessions side by side and returns their differences step by step, so memory does not
// grow with the length of the sessions. Records are read only when digests differ, or always when
// the digests of the two sessions have different versions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "sessions/diff/diff_lists.h"
#include "sessions/diff/field_difference.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// Finds every field in which two records of one step differ. Elements are matched by request name
// and the rest of their key (group, column, launch), never by id or row number.

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

// The result of a bounded search for the next difference.
enum class DiffProgress : std::uint8_t { differs, not_yet, end };

enum class StepPresence : std::uint8_t { both, only_a, only_b };

// The differences of one step.
struct StepDifference {
  std::int64_t step = 0;
  StepPresence presence = StepPresence::both;
  // The steps after the end of the other session are one difference.
  bool tail = false;
  std::int64_t last_step = 0;  // last step of the tail; otherwise `step`
  std::int64_t num_steps = 1;
  std::vector<FieldDifference> fields;  // empty when one side lacks the step
  const StepRecord* a = nullptr;        // null when the side lacks the step, and for tails
  const StepRecord* b = nullptr;
};

class SessionDiff {
 public:
  // The sources must not have been read yet, and must outlive this.
  SessionDiff(StepSource& a, StepSource& b, IgnoreRules rules);

  // The next step that differs, null after the last one; valid until the next call. Errors: those
  // of the sources; not_available when the digests have different versions and the level is counts,
  // which keeps little else.
  Result<const StepDifference*> next();
  // Looks for the next difference without blocking: reads at most `max_steps` steps of each
  // session. not_yet: none of them differs, and there are more.
  Result<DiffProgress> look(std::int64_t max_steps);
  // The difference that look() found last.
  const StepDifference& difference() const { return difference_; }

  // Over all steps read so far.
  const DiffSummary& summary() const { return summary_; }
  const RequestNumbers& names() const { return names_; }
  const IgnoreRules& rules() const { return rules_; }
  RecordLevel level() const { return level_; }  // the lower level of the two
  DigestPair digests() const { return digests_; }

 private:
  struct Side {
    StepSource* source;
    const StepStamp* stamp = nullptr;
    bool consumed = true;
  };

  Status advance(Side& side, std::int64_t& num_steps, std::int64_t& last_step);
  // Compares two stamps of one step before their records are read.
  bool may_differ(const StepStamp& a, const StepStamp& b) const;
  Status refuse_digests() const;
  Result<DiffProgress> look_on();
  Result<DiffProgress> compare_records();
  Result<DiffProgress> one_sided(int side);
  Result<DiffProgress> tail(int side);
  void start(std::int64_t step, StepPresence presence);

  Side sides_[2];
  IgnoreRules rules_;
  RequestNumbers names_;
  RecordLevel level_;
  DigestPair digests_;
  RecordComparer comparer_;
  DiffSummary summary_;
  StepDifference difference_;
  bool tail_is_reported_ = false;
};

}  // namespace hybridscope
