#include "sessions/diff/session_diff.h"

#include <fmt/format.h>

#include <algorithm>
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
  if (Status refused = refuse_digests(); !refused.ok()) return refused.error();
  Side& a = sides_[0];
  Side& b = sides_[1];
  while (true) {
    if (Status got = advance(a, summary_.num_steps_a, summary_.last_step_a); !got.ok())
      return got.error();
    if (Status got = advance(b, summary_.num_steps_b, summary_.last_step_b); !got.ok())
      return got.error();
    if (a.stamp == nullptr && b.stamp == nullptr) return nullptr;
    if (a.stamp == nullptr || b.stamp == nullptr) return tail(a.stamp == nullptr ? 1 : 0);
    if (a.stamp->step != b.stamp->step) {
      const int side = a.stamp->step < b.stamp->step ? 0 : 1;
      if (!rules_.ignores_step(sides_[side].stamp->step)) return one_sided(side);
      sides_[side].consumed = true;
      continue;
    }
    a.consumed = b.consumed = true;
    ++summary_.num_common;
    if (!may_differ(*a.stamp, *b.stamp)) continue;
    const auto differs = compare_records();
    if (!differs.ok()) return differs.error();
    if (differs.value()) return &difference_;
  }
}

Result<bool> SessionDiff::compare_records() {
  const StepStamp& a = *sides_[0].stamp;
  const StepStamp& b = *sides_[1].stamp;
  SectionMask sections{};
  bool any = false;
  for (std::size_t s = 0; s < kNumStepSections; ++s) {
    sections[s] = (digests_ == DigestPair::of_two_versions || a.digests.of[s] != b.digests.of[s]) &&
                  !rules_.ignores_section(static_cast<DiffSection>(s));
    any = any || sections[s];
  }
  if (!any) return false;
  start(a.step, StepPresence::both);
  const auto record_a = sides_[0].source->record();
  if (!record_a.ok()) return record_a.error();
  const auto record_b = sides_[1].source->record();
  if (!record_b.ok()) return record_b.error();
  difference_.a = record_a.value();
  difference_.b = record_b.value();
  comparer_.compare(*difference_.a, *difference_.b, sections, difference_.fields);
  if (difference_.fields.empty()) return false;
  ++summary_.num_differing;
  ++summary_.num_differences;
  summary_.add(difference_.fields);
  return true;
}

Result<const StepDifference*> SessionDiff::one_sided(int side) {
  Side& only = sides_[side];
  start(only.stamp->step, side == 0 ? StepPresence::only_a : StepPresence::only_b);
  const auto record = only.source->record();
  if (!record.ok()) return record.error();
  (side == 0 ? difference_.a : difference_.b) = record.value();
  only.consumed = true;
  ++(side == 0 ? summary_.num_only_a : summary_.num_only_b);
  ++summary_.num_differences;
  return &difference_;
}

// Reads the longer session to its end.
Result<const StepDifference*> SessionDiff::tail(int side) {
  Side& only = sides_[side];
  std::int64_t& num_only = side == 0 ? summary_.num_only_a : summary_.num_only_b;
  start(0, side == 0 ? StepPresence::only_a : StepPresence::only_b);
  difference_.tail = true;
  difference_.num_steps = 0;
  while (only.stamp != nullptr) {
    if (!rules_.ignores_step(only.stamp->step)) {
      if (difference_.num_steps++ == 0) difference_.step = only.stamp->step;
      difference_.last_step = only.stamp->step;
    }
    only.consumed = true;
    if (Status got = advance(only, side == 0 ? summary_.num_steps_a : summary_.num_steps_b,
                             side == 0 ? summary_.last_step_a : summary_.last_step_b);
        !got.ok())
      return got.error();
  }
  num_only += difference_.num_steps;
  if (difference_.num_steps == 0) return nullptr;
  ++summary_.num_differences;
  return &difference_;
}

}  // namespace hybridscope
