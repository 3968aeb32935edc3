#include "sessions/diff/session_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace hybridscope {

SessionDiff::SessionDiff(StepSource& a, StepSource& b, IgnoreRules rules)
    : sides_{{&a}, {&b}},
      rules_(std::move(rules)),
      names_(a, b),
      level_(std::min(a.level(), b.level())),
      digests_(a.digest_version() == b.digest_version() ? DigestPair::comparable
                                                        : DigestPair::of_two_versions),
      comparer_(names_, rules_, level_, digests_) {
  if (a.config().runner != b.config().runner) rules_.leave_out_runners();
}

Status SessionDiff::advance(Side& side, std::int64_t& num_steps, std::int64_t& last_step) {
  if (!side.consumed) return Ok{};
  const auto stamp = side.source->next();
  if (!stamp.ok()) return stamp.error();
  side.stamp = stamp.value();
  side.consumed = false;
  if (side.stamp == nullptr) return Ok{};
  ++num_steps;
  last_step = side.stamp->step;
  return Ok{};
}

void SessionDiff::start(std::int64_t step, StepPresence presence) {
  difference_.step = difference_.last_step = step;
  difference_.presence = presence;
  difference_.tail = false;
  difference_.num_steps = 1;
  difference_.fields.clear();
  difference_.a = difference_.b = nullptr;
}

bool SessionDiff::may_differ(const StepStamp& a, const StepStamp& b) const {
  if (rules_.ignores_step(a.step)) return false;
  return digests_ == DigestPair::of_two_versions || a.digests != b.digests;
}

Status SessionDiff::refuse_digests() const {
  if (digests_ == DigestPair::comparable || level_ != RecordLevel::counts) return Ok{};
  const StepSource& a = *sides_[0].source;
  const StepSource& b = *sides_[1].source;
  return Error{ErrorKind::not_available,
               fmt::format("the digests of {} are of version {}, those of {} of version {}, and "
                           "level counts keeps nothing else of a step's decisions: steps cannot be "
                           "compared",
                           a.title(), a.digest_version(), b.title(), b.digest_version())};
}

Result<const StepDifference*> SessionDiff::next() {
  const auto looked = look(std::numeric_limits<std::int64_t>::max());
  if (!looked.ok()) return looked.error();
  return looked.value() == DiffProgress::differs ? &difference_ : nullptr;
}

Result<DiffProgress> SessionDiff::look(std::int64_t max_steps) {
  if (Status refused = refuse_digests(); !refused.ok()) return refused.error();
  for (std::int64_t i = 0; i < max_steps; ++i) {
    const auto looked = look_on();
    if (!looked.ok() || looked.value() != DiffProgress::not_yet) return looked;
  }
  return DiffProgress::not_yet;
}

// Advances both sessions by one step, or only the one that is behind.
Result<DiffProgress> SessionDiff::look_on() {
  Side& a = sides_[0];
  Side& b = sides_[1];
  if (Status got = advance(a, summary_.num_steps_a, summary_.last_step_a); !got.ok())
    return got.error();
  if (Status got = advance(b, summary_.num_steps_b, summary_.last_step_b); !got.ok())
    return got.error();
  if (a.stamp == nullptr || b.stamp == nullptr) return tail(a.stamp == nullptr ? 1 : 0);
  if (a.stamp->step != b.stamp->step) {
    const int side = a.stamp->step < b.stamp->step ? 0 : 1;
    if (!rules_.ignores_step(sides_[side].stamp->step)) return one_sided(side);
    sides_[side].consumed = true;
    return DiffProgress::not_yet;
  }
  a.consumed = b.consumed = true;
  ++summary_.num_common;
  return may_differ(*a.stamp, *b.stamp) ? compare_records() : DiffProgress::not_yet;
}

Result<DiffProgress> SessionDiff::compare_records() {
  const StepStamp& a = *sides_[0].stamp;
  const StepStamp& b = *sides_[1].stamp;
  SectionMask sections{};
  bool any = false;
  for (std::size_t s = 0; s < kNumStepSections; ++s) {
    sections[s] = (digests_ == DigestPair::of_two_versions || a.digests.of[s] != b.digests.of[s]) &&
                  !rules_.ignores_section(static_cast<DiffSection>(s));
    any = any || sections[s];
  }
  if (!any) return DiffProgress::not_yet;
  start(a.step, StepPresence::both);
  const auto record_a = sides_[0].source->record();
  if (!record_a.ok()) return record_a.error();
  const auto record_b = sides_[1].source->record();
  if (!record_b.ok()) return record_b.error();
  difference_.a = record_a.value();
  difference_.b = record_b.value();
  comparer_.compare(*difference_.a, *difference_.b, sections, difference_.fields);
  if (difference_.fields.empty()) return DiffProgress::not_yet;
  ++summary_.num_differing;
  ++summary_.num_differences;
  summary_.add(difference_.fields);
  return DiffProgress::differs;
}

Result<DiffProgress> SessionDiff::one_sided(int side) {
  Side& only = sides_[side];
  start(only.stamp->step, side == 0 ? StepPresence::only_a : StepPresence::only_b);
  const auto record = only.source->record();
  if (!record.ok()) return record.error();
  (side == 0 ? difference_.a : difference_.b) = record.value();
  only.consumed = true;
  ++(side == 0 ? summary_.num_only_a : summary_.num_only_b);
  ++summary_.num_differences;
  return DiffProgress::differs;
}

// Continues in the longer session. All its steps after the other's end are one difference, reported
// at its end.
Result<DiffProgress> SessionDiff::tail(int side) {
  Side& only = sides_[side];
  if (!difference_.tail) start(0, side == 0 ? StepPresence::only_a : StepPresence::only_b);
  if (!std::exchange(difference_.tail, true)) difference_.num_steps = 0;
  if (only.stamp != nullptr) {
    if (!rules_.ignores_step(only.stamp->step)) {
      if (difference_.num_steps++ == 0) difference_.step = only.stamp->step;
      difference_.last_step = only.stamp->step;
      ++(side == 0 ? summary_.num_only_a : summary_.num_only_b);
    }
    only.consumed = true;
    return DiffProgress::not_yet;
  }
  if (tail_is_reported_ || difference_.num_steps == 0) return DiffProgress::end;
  tail_is_reported_ = true;
  ++summary_.num_differences;
  return DiffProgress::differs;
}

}  // namespace hybridscope
