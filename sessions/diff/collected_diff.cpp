#include "sessions/diff/collected_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace hybridscope {
namespace {

// Causes before consequences: decisions, then places.
constexpr std::array kOrder = {DiffSection::commands, DiffSection::schedule, DiffSection::rows,
                               DiffSection::graph,    DiffSection::copies,   DiffSection::commits,
                               DiffSection::findings, DiffSection::counts,   DiffSection::metadata,
                               DiffSection::blocks,   DiffSection::layout,   DiffSection::state};
static_assert(kOrder.size() == kNumDiffSections);

std::ptrdiff_t rank(const FieldDifference& difference) {
  return std::ranges::find(kOrder, difference.section) - kOrder.begin();
}

// Fields grouped by request, requests in the order of their first decision, then the fields of the
// step.
std::vector<const FieldDifference*> in_order(const std::vector<FieldDifference>& fields) {
  std::map<std::int32_t, std::ptrdiff_t> first;  // rank by request
  for (const FieldDifference& field : fields) {
    const auto [place, added] = first.emplace(field.request, rank(field));
    if (!added) place->second = std::min(place->second, rank(field));
  }
  std::vector<const FieldDifference*> ordered;
  for (const FieldDifference& field : fields) ordered.push_back(&field);
  std::ranges::stable_sort(ordered, {}, [&](const FieldDifference* field) {
    return std::tuple(first.at(field->request), field->request < 0, field->request, rank(*field));
  });
  return ordered;
}

void explain_first(const StepDifference& difference, const SessionDiff& diff, const StepSource& a,
                   const StepSource& b, CollectedDiff& collected) {
  collected.decisions = explain_divergence(difference, a, b, diff.names());
  collected.num_decisions = static_cast<std::int64_t>(collected.decisions.size());
  if (collected.decisions.size() > kMaxCollectedDecisions)
    collected.decisions.resize(kMaxCollectedDecisions);
  collected.findings_a = findings_of_one_side(difference, a, 0);
  collected.findings_b = findings_of_one_side(difference, b, 1);
}

}  // namespace

CollectedStep collect_step(const StepDifference& difference, const RequestNumbers& names) {
  CollectedStep step{.step = difference.step,
                     .last_step = difference.last_step,
                     .num_steps = difference.num_steps,
                     .presence = difference.presence,
                     .tail = difference.tail,
                     .num_fields = static_cast<std::int64_t>(difference.fields.size()),
                     .fields = {}};
  for (const FieldDifference* field : in_order(difference.fields)) {
    if (step.fields.size() == kMaxCollectedFields) break;
    step.fields.push_back({.request = std::string(names.name(field->request)),
                           .section = field->section,
                           .field = fmt::format("{}.{}", diff_list(field->list).name, field->field),
                           .place = place_text(*field),
                           .a = field->a,
                           .b = field->b,
                           .list = field->list,
                           .group = field->group,
                           .column = field->column,
                           .index = field->index,
                           .part = field->part});
  }
  return step;
}

Result<CollectedDiff> collect_diff(SessionDiff& diff, const StepSource& a, const StepSource& b,
                                   const CollectOptions& options) {
  CollectedDiff collected;
  bool first = true;
  while (true) {
    const auto next = diff.next();
    if (!next.ok()) return next.error();
    if (next.value() == nullptr) return collected;
    const StepDifference& difference = *next.value();
    if (first || collected.steps.size() < options.limit)
      collected.steps.push_back(collect_step(difference, diff.names()));
    if (first) explain_first(difference, diff, a, b, collected);
    first = false;
    if (options.first_only) {
      collected.complete = false;
      return collected;
    }
  }
}

}  // namespace hybridscope
