// Compares the scheduler's decisions, rows, commits and findings; the rest is in
// record_comparer_state.cpp.
#include "sessions/diff/record_comparer.h"

#include <unordered_map>

#include "sessions/record/step_fields.h"

namespace hybridscope {

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
