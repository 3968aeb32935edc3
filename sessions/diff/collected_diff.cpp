#include "sessions/diff/collected_diff.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/run/finding_list.h"

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

namespace {

// One side of a divergence.
struct DivergedSide {
  const StepTrace& trace;
  const StepCounts& counts;  // kept at every level, unlike the trace's rows
  const StepSource& source;
  Names names;

  bool is(RequestId request, std::string_view name) const {
    return request.value >= 0 && source.request_name(request) == name;
  }
  template <class List>
  auto find(const List& list, std::string_view name) const {
    const auto found =
        std::ranges::find_if(list, [&](const auto& element) { return is(element.request, name); });
    return found == list.end() ? nullptr : &*found;
  }
};

DivergedSide make_side(const StepRecord& record, const StepSource& source) {
  Names names =
      make_names(source.config(), [&source](RequestId id) { return source.request_name(id); });
  return {record.trace, record.counts, source, std::move(names)};
}

std::string schedule_words(const DivergedSide& side, std::string_view request) {
  std::string text;
  if (std::ranges::any_of(side.trace.preempted, [&](RequestId id) { return side.is(id, request); }))
    text = "preempted in this step; ";
  if (const auto* s = side.find(side.trace.scheduled, request))
    return text + fmt::format("{}: {} tokens ({} of {} drafts) behind c = {} of {} known{}",
                              admission_name(s->admission), s->num_scheduled_tokens,
                              s->num_draft_tokens, s->num_drafts_offered, s->num_computed_tokens,
                              s->num_tokens,
                              s->num_hit_tokens > 0
                                  ? fmt::format(", {} from the prefix cache", s->num_hit_tokens)
                                  : std::string());
  if (const auto* skipped = side.find(side.trace.skipped, request))
    return text + "no tokens: " + std::string(explain_skip(skipped->reason));
  return text + "not considered in this step";
}

std::string lookup_words(const DivergedSide& side, std::string_view request) {
  const auto* lookup = side.find(side.trace.lookups, request);
  return lookup == nullptr ? std::string("no lookup")
                           : explain_lookup(*lookup, side.source.config(), side.names);
}

std::string row_words(const DivergedSide& side, std::string_view request) {
  const auto* row = side.find(side.trace.rows, request);
  if (row == nullptr) return "no row";
  std::string text = fmt::format("{} row behind exact c = {}, a = {} given to the builders",
                                 row_class_name(row->row_class), row->num_computed_tokens,
                                 row->num_accepted_tokens);
  if (row->num_accepted_tokens_before != row->num_accepted_tokens)
    text += fmt::format(" ({} before the pre-copies)", row->num_accepted_tokens_before);
  if (row->accepted_from.value >= 0 && row->accepted_from != row->request)
    text += " taken from " + side.source.request_name(row->accepted_from);
  if (row->num_sampled_tokens == 0) return text + "; what it samples is discarded";
  text += fmt::format("; samples a = {}", row->num_sampled_tokens);
  const bool scripted = std::ranges::any_of(side.trace.commands, [&](const CommandTrace& command) {
    return command.command == CommandKind::set_accepted_tokens && side.is(command.request, request);
  });
  return text + (scripted ? ", as a command says" : "");
}

std::string commit_words(const DivergedSide& side, std::string_view request) {
  const auto* commit = side.find(side.trace.committed, request);
  if (commit == nullptr) return "no frame of it returned";
  return fmt::format(
      "{}: {} tokens appended, c = {}, {} known{}", commit_outcome_name(commit->outcome),
      commit->num_appended_tokens, commit->num_computed_tokens, commit->num_tokens,
      commit->finished ? ", finished"
                       : fmt::format(", {} drafts for the next step", commit->num_drafts_next));
}

// The command's value besides its request; "" when its kind has none.
std::string command_value(const CommandTrace& command) {
  switch (command.command) {
    case CommandKind::add_request:
    case CommandKind::set_step_budget:
    case CommandKind::set_accepted_tokens:
    case CommandKind::set_draft_tokens: return fmt::format(" {}", command.value);
    case CommandKind::reset_prefix_cache: return command.value != 0 ? " with running requests" : "";
    case CommandKind::preempt:
    case CommandKind::abort:
    case CommandKind::set_policies: break;
  }
  return {};
}

std::string command_words(const DivergedSide& side, std::string_view request) {
  std::string text;
  for (const CommandTrace& command : side.trace.commands) {
    if (!(request.empty() ? command.request.value < 0 : side.is(command.request, request)))
      continue;
    text += fmt::format("{}{}", text.empty() ? "" : "; ", command_name(command.command)) +
            command_value(command);
    if (command.outcome == CommandOutcome::ignored)
      text += fmt::format(" (ignored: {})", ignored_reason_words(command.reason));
  }
  return text.empty() ? "no command" : text;
}

std::string dispatch_words(const DivergedSide& side) {
  return explain_dispatch({.dispatch = side.trace.graph,
                           .num_tokens = side.trace.num_scheduled_tokens,
                           .num_reqs = side.counts.num_reqs,
                           .uniform_decode = side.trace.uniform_decode,
                           .num_spec = side.source.config().num_speculative_tokens});
}

const StateCopyDecision* find_decision(const DivergedSide& side, std::string_view request,
                                       int launch) {
  const CopyLaunch& copies = launch == 0 ? side.trace.pre_copies : side.trace.post_copies;
  const auto* found = side.find(copies.decisions, request);
  return found == nullptr ? nullptr : &found->decision;
}

std::string differing_fields(const std::vector<const FieldDifference*>& fields) {
  std::string text;
  for (const FieldDifference* field : fields) {
    const std::string place = place_text(*field);
    text +=
        fmt::format("{}{}.{}{}: A {}, B {}", text.empty() ? "" : "; ", diff_list(field->list).name,
                    field->field, place.empty() ? "" : fmt::format(" ({})", place), field->a.text(),
                    field->b.text());
  }
  return text;
}

// Collects pairs for the requests that differ.
class Divergence {
 public:
  Divergence(const StepDifference& difference, DivergedSide a, DivergedSide b)
      : difference_(difference), a_(std::move(a)), b_(std::move(b)) {}

  std::vector<DecisionPair> take() { return std::move(pairs_); }

  void add_request(std::int32_t number, std::string_view name) {
    const auto of_request = [name](auto words) {
      return [name, words](const DivergedSide& side) { return words(side, name); };
    };
    add(number, name, "command", {DiffList::commands}, of_request(command_words));
    add(number, name, "schedule", {DiffList::scheduled, DiffList::skipped, DiffList::preempted},
        of_request(schedule_words));
    add(number, name, "prefix cache lookup", {DiffList::lookups, DiffList::lookup_groups},
        of_request(lookup_words));
    add(number, name, "row", {DiffList::rows}, of_request(row_words));
    for (int launch = 0; launch < 2; ++launch) add_copy(number, name, launch);
    add(number, name, "commit", {DiffList::commits}, of_request(commit_words));
  }

  void add_step() {
    add(-1, "", "command", {DiffList::commands},
        [](const DivergedSide& side) { return command_words(side, ""); });
    add(-1, "", "graph dispatch", {DiffList::graph}, dispatch_words);
  }

 private:
  using Lists = std::initializer_list<DiffList>;

  // The fields of these lists in which the request differs.
  std::vector<const FieldDifference*> fields_of(std::int32_t request, Lists lists,
                                                std::string_view part = {}) const {
    std::vector<const FieldDifference*> found;
    for (const FieldDifference& field : difference_.fields)
      if (field.request == request && std::ranges::find(lists, field.list) != lists.end() &&
          (part.empty() || field.part == part))
        found.push_back(&field);
    return found;
  }

  void add_pair(DecisionPair pair, const std::vector<const FieldDifference*>& fields) {
    if (pair.a == pair.b) pair.differs = differing_fields(fields);
    pairs_.push_back(std::move(pair));
  }

  template <class Words>
  void add(std::int32_t number, std::string_view request, std::string subject, Lists lists,
           const Words& words) {
    const auto fields = fields_of(number, lists);
    if (fields.empty()) return;
    add_pair(
        {.request = std::string(request),
         .subject = std::move(subject),
         .source = std::string(diff_list(*lists.begin()).source_for(a_.source.config().runner)),
         .a = words(a_),
         .b = words(b_)},
        fields);
  }

  void add_copy(std::int32_t number, std::string_view request, int launch) {
    const auto fields = fields_of(number, {DiffList::copies, DiffList::state_copies},
                                  launch == 0 ? "pre_copies" : "post_copies");
    if (fields.empty()) return;
    const StateCopyDecision* a = find_decision(a_, request, launch);
    const StateCopyDecision* b = find_decision(b_, request, launch);
    const auto words = [](const StateCopyDecision* decision, const DivergedSide& side) {
      if (decision != nullptr) return explain_decision(*decision);
      return side.source.level() == RecordLevel::full
                 ? std::string("no decision")
                 : std::string("no copy; decisions that copy nothing are kept at level full");
    };
    const StateCopyDecision* any = a != nullptr ? a : b;
    add_pair({.request = std::string(request),
              .subject = launch == 0 ? "pre-copy" : "post-copy",
              .source = any == nullptr ? std::string() : std::string(decision_source(any->rule)),
              .a = words(a, a_),
              .b = words(b, b_)},
             fields);
  }

  const StepDifference& difference_;
  DivergedSide a_;
  DivergedSide b_;
  std::vector<DecisionPair> pairs_;
};

}  // namespace

std::vector<DecisionPair> explain_divergence(const StepDifference& difference, const StepSource& a,
                                             const StepSource& b, const RequestNumbers& names) {
  if (difference.a == nullptr || difference.b == nullptr) return {};
  Divergence divergence(difference, make_side(*difference.a, a), make_side(*difference.b, b));
  divergence.add_step();
  std::vector<std::int32_t> named;
  for (const FieldDifference& field : difference.fields) {
    if (field.request < 0 || std::ranges::find(named, field.request) != named.end()) continue;
    named.push_back(field.request);
    divergence.add_request(field.request, names.name(field.request));
  }
  return divergence.take();
}

std::vector<std::string> findings_of_one_side(const StepDifference& difference,
                                              const StepSource& source, int side) {
  const StepRecord* record = side == 0 ? difference.a : difference.b;
  if (record == nullptr) return {};
  const Names words = make_side(*record, source).names;
  std::vector<std::string> texts;
  std::size_t num_found = 0;
  for (const FieldDifference& field : difference.fields) {
    if (field.list != DiffList::findings || field.field != kPresentField) continue;
    if ((side == 0 ? field.a : field.b).kind == DiffValueKind::absent) continue;
    if (++num_found <= kMaxExplainedFindings)
      texts.push_back(
          explain_finding(record->findings[static_cast<std::size_t>(field.place)], words));
  }
  if (num_found > kMaxExplainedFindings)
    texts.push_back(fmt::format("and {} more", num_found - kMaxExplainedFindings));
  return texts;
}

}  // namespace hybridscope
