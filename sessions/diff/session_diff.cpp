#include "sessions/diff/session_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "sessions/record/step_fields.h"

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
  return Error{
      ErrorKind::not_available,
      fmt::format("the digests of {} are of version {}, those of {} of version {}, and level "
                  "counts keeps nothing else of a step's decisions: steps cannot be compared",
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

// Compares the scheduler's decisions, rows, commits and findings; the rest is in
// record_comparer_state.cpp.

RecordComparer::RecordComparer(RequestNumbers& names, const IgnoreRules& rules, RecordLevel level,
                               DigestPair digests)
    : matcher_(names, rules),
      level_(level),
      digests_(digests),
      array_names_(field_names(DiffList::arrays)) {}

void RecordComparer::compare(const StepRecord& a, const StepRecord& b, const SectionMask& sections,
                             std::vector<FieldDifference>& found) {
  matcher_.collect_into(found);
  compare_step(a.trace, b.trace, sections);
  if (level_ != RecordLevel::counts) {
    if (is_compared(sections, StepSection::schedule)) {
      compare_schedule(a.trace, b.trace);
      compare_lookups(a.trace, b.trace);
    }
    compare_rows(a.trace, b.trace, sections);
    compare_copies(a.trace, b.trace, sections);
    compare_blocks(a, b, sections);
    if (is_compared(sections, StepSection::metadata)) compare_metadata(a, b);
    if (level_ == RecordLevel::full) compare_writes(a, b);
  } else {
    matcher_.begin();
    matcher_.compare_fields(DiffList::counts, {.data = &a.counts}, {.data = &b.counts},
                            [](auto& visit, const ListElement& element) {
                              for_each_count_field(as<StepCounts>(element), visit);
                            });
  }
  if (is_compared(sections, StepSection::findings)) compare_findings(a, b);
  compare_digests(a, b, sections, found);
}

void RecordComparer::compare_step(const StepTrace& a, const StepTrace& b,
                                  const SectionMask& sections) {
  const ListElement left{.data = &a};
  const ListElement right{.data = &b};
  matcher_.begin();
  if (is_compared(sections, StepSection::schedule))
    matcher_.compare_fields(DiffList::step, left, right,
                            [](auto& visit, const ListElement& element) {
                              for_each_step_field(as<StepTrace>(element), visit);
                            });
  if (is_compared(sections, StepSection::graph))
    matcher_.compare_fields(DiffList::graph, left, right,
                            [](auto& visit, const ListElement& element) {
                              for_each_graph_field(as<StepTrace>(element), visit);
                            });
  if (!is_compared(sections, StepSection::commands)) return;
  for (int side = 0; side < 2; ++side)
    for (const CommandTrace& command : (side == 0 ? a : b).commands)
      matcher_.add(side, command.request,
                   {.more = static_cast<std::uint64_t>(command.command),
                    .data = &command,
                    .part = value_names::name(command.command)});
  matcher_.compare(DiffList::commands, [](auto& visit, const ListElement& element) {
    for_each_command_field(as<CommandTrace>(element), visit);
  });
}

void RecordComparer::compare_schedule(const StepTrace& a, const StepTrace& b) {
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const ScheduledTrace& scheduled : (side == 0 ? a : b).scheduled)
      matcher_.add(side, scheduled.request, {.data = &scheduled});
  matcher_.compare(DiffList::scheduled, [](auto& visit, const ListElement& element) {
    for_each_scheduled_field(as<ScheduledTrace>(element), visit);
  });
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const SkippedRequest& skipped : (side == 0 ? a : b).skipped)
      matcher_.add(side, skipped.request, {.data = &skipped});
  matcher_.compare(DiffList::skipped, [](auto& visit, const ListElement& element) {
    for_each_skipped_field(as<SkippedRequest>(element), visit);
  });
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const RequestId request : (side == 0 ? a : b).preempted) matcher_.add(side, request, {});
  matcher_.compare(DiffList::preempted, [](auto&, const ListElement&) {});
}

void RecordComparer::compare_lookups(const StepTrace& a, const StepTrace& b) {
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const AdmissionLookup& lookup : (side == 0 ? a : b).lookups)
      matcher_.add(side, lookup.request, {.data = &lookup});
  matcher_.compare(DiffList::lookups, [](auto& visit, const ListElement& element) {
    for_each_lookup_field(as<AdmissionLookup>(element), visit);
  });
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const AdmissionLookup& lookup : (side == 0 ? a : b).lookups)
      for (std::size_t g = 0; g < lookup.explanation.groups.size(); ++g)
        matcher_.add(side, lookup.request,
                     {.more = g,
                      .data = &lookup.explanation.groups[g],
                      .group = static_cast<std::int32_t>(g)});
  matcher_.compare(DiffList::lookup_groups, [](auto& visit, const ListElement& element) {
    for_each_group_lookup_field(as<GroupLookup>(element), visit);
  });
}

void RecordComparer::compare_rows(const StepTrace& a, const StepTrace& b,
                                  const SectionMask& sections) {
  const bool rows = is_compared(sections, StepSection::rows);
  const bool layout = is_compared(sections, StepSection::layout);
  if (rows || layout) {
    matcher_.begin();
    for (int side = 0; side < 2; ++side) {
      std::int32_t number = 0;
      for (const RowTrace& row : (side == 0 ? a : b).rows)
        matcher_.add(side, row.request, {.data = &row, .row = number++});
    }
  }
  if (rows)
    matcher_.compare(DiffList::rows, [](auto& visit, const ListElement& element) {
      for_each_row_field(as<RowTrace>(element), visit);
    });
  if (layout)
    matcher_.compare(DiffList::layout, [](auto& visit, const ListElement& element) {
      visit("row", element.row);
      for_each_layout_field(as<RowTrace>(element), visit);
    });
  if (!is_compared(sections, StepSection::commits)) return;
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const CommitTrace& commit : (side == 0 ? a : b).committed)
      matcher_.add(side, commit.request, {.data = &commit});
  matcher_.compare(DiffList::commits, [](auto& visit, const ListElement& element) {
    for_each_commit_field(as<CommitTrace>(element), visit);
  });
}

// Findings that are equal on both sides are removed first. What is left was found by one side only,
// or differs. Pairing by rule and group right away could match a finding with another one of the
// same kind.
void RecordComparer::compare_findings(const StepRecord& a, const StepRecord& b) {
  const auto hash = [this](int side, const Finding& finding) {
    return matcher_.hash(side, DiffList::findings,
                         [&](auto& visit) { for_each_finding_field(finding, visit); });
  };
  std::unordered_map<std::uint64_t, std::int32_t> left_of_b;
  for (const Finding& finding : b.findings) ++left_of_b[hash(1, finding)];
  std::unordered_map<std::uint64_t, std::int32_t> equal;
  matcher_.begin();
  for (std::size_t i = 0; i < a.findings.size(); ++i) {
    const std::uint64_t sum = hash(0, a.findings[i]);
    const auto other = left_of_b.find(sum);
    if (other != left_of_b.end() && other->second > 0) {
      --other->second;
      ++equal[sum];
    } else {
      add_finding(0, a.findings[i], i);
    }
  }
  for (std::size_t i = 0; i < b.findings.size(); ++i) {
    const auto matched = equal.find(hash(1, b.findings[i]));
    if (matched != equal.end() && matched->second > 0)
      --matched->second;
    else
      add_finding(1, b.findings[i], i);
  }
  matcher_.compare(DiffList::findings, [](auto& visit, const ListElement& element) {
    for_each_finding_field(as<Finding>(element), visit);
  });
}

void RecordComparer::add_finding(int side, const Finding& finding, std::size_t place) {
  const auto byte = [](auto value) { return static_cast<std::uint64_t>(value) & 0xFFU; };
  matcher_.add(
      side, finding.request,
      {.more = byte(finding.rule) << 40 | byte(finding.content) << 32 | byte(finding.group) << 24 |
               (static_cast<std::uint32_t>(finding.column) & 0xFFFFFFU),
       .data = &finding,
       .block = finding.block,
       .group = finding.group,
       .column = finding.column,
       .place = static_cast<std::int32_t>(place),
       .part = rule_info(finding.rule).slug,
       .detail = finding.content == ContentKind::none ? std::string_view()
                                                      : value_names::name(finding.content)});
}

void RecordComparer::compare_digests(const StepRecord& a, const StepRecord& b,
                                     const SectionMask& sections,
                                     const std::vector<FieldDifference>& found) {
  if (level_ == RecordLevel::full || digests_ == DigestPair::of_two_versions) return;
  for (std::size_t s = 0; s < kNumStepSections; ++s) {
    const auto section = static_cast<StepSection>(s);
    const bool keeps_all = level_ == RecordLevel::blocks
                               ? section != StepSection::copies && section != StepSection::metadata
                               : section == StepSection::commands ||
                                     section == StepSection::graph ||
                                     section == StepSection::findings;
    if (keeps_all || !sections[s] || a.digests.of[s] == b.digests.of[s]) continue;
    if (matcher_.rules().ignores_part_of(diff_section(section))) continue;
    const bool reported = std::ranges::any_of(found, [&](const FieldDifference& difference) {
      return difference.section == diff_section(section);
    });
    if (reported) continue;
    FieldDifference* difference =
        matcher_.differ(DiffList::digests, {}, s, step_section_name(section));
    if (difference == nullptr) continue;
    difference->a = {DiffValueKind::hash, static_cast<std::int64_t>(a.digests.of[s])};
    difference->b = {DiffValueKind::hash, static_cast<std::int64_t>(b.digests.of[s])};
  }
}

}  // namespace hybridscope
