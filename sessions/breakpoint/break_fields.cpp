#include "sessions/breakpoint/break_fields.h"

#include <fmt/core.h>
#include <utility>

#include "sessions/breakpoint/break_kinds.h"
#include "sessions/record/step_fields.h"

namespace hybridscope {
namespace {

using namespace break_kinds_of;

template <class Visit>
void visit_step(const BreakStep& step, Visit&& visit) {
  const StepTrace& trace = step.trace;
  visit("step", trace.step);
  for_each_step_field(trace, visit);
  for_each_graph_field(trace, visit);
  visit("num_reqs", trace.rows.size());
  visit("num_preempted", trace.preempted.size());
  visit("num_skipped", trace.skipped.size());
  visit("num_copies", trace.pre_copies.copies.size() + trace.post_copies.copies.size());
  visit("num_findings", step.findings.size());
}

BreakKind step_kind() {
  const StepTrace trace;
  BreakKind kind = make_kind(
      "", "the step itself",
      [&](auto visit) {
        visit_step({trace, {}, {}}, visit);
      },
      [](const BreakStep& step, Collector& out) {
        out.add(RequestId{}, 0, [&](auto visit) { visit_step(step, visit); });
      });
  kind.is_bare = true;
  return kind;
}

template <class T, class Visit>
void visit_copy(T& decided, std::int32_t launch, Visit&& visit) {
  const bool copies = decided.decision.copies();
  visit("launch", launch);
  visit("row", decided.row);
  visit("copies", copies);
  for_each_decision_field(decided, visit);
}

BreakKind copy_kind() {
  return make_kind(
      "copy", "a row's copy decision; launch 0 is before the forward, 1 after sampling",
      [](auto visit) { visit_copy(kSample<CopyDecisionTrace>, 0, visit); },
      [](const BreakStep& step, Collector& out) {
        std::int32_t launch = 0;
        for (const CopyLaunch* copies : {&step.trace.pre_copies, &step.trace.post_copies}) {
          for (std::size_t i = 0; i < copies->decisions.size(); ++i)
            out.add(copies->decisions[i].request, i,
                    [&](auto visit) { visit_copy(copies->decisions[i], launch, visit); });
          ++launch;
        }
      });
}

BreakKind row_kind() {
  return make_kind(
      "row", "a request's row of the batch",
      [](auto visit) {
        for_each_scheduled_field(kSample<ScheduledTrace>, visit);
        visit("row", std::int32_t{0});
        for_each_row_field(kSample<RowTrace>, visit);
        for_each_layout_field(kSample<RowTrace>, visit);
      },
      [](const BreakStep& step, Collector& out) {
        for (std::size_t i = 0; i < step.trace.rows.size(); ++i) {
          const RowTrace& row = step.trace.rows[i];
          out.add(row.request, i, [&](auto visit) {
            for_each_scheduled_field(step.trace.scheduled_of(row), visit);
            visit("row", i);
            for_each_row_field(row, visit);
            for_each_layout_field(row, visit);
          });
        }
      });
}

BreakKind event_kind() {
  return make_kind(
      "event", "a block event: allocated, freed, registered, evicted, column_set ...",
      [](auto visit) { for_each_cache_event_field(kSample<CacheEvent>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (const auto* events : {&step.trace.cache_events, &step.trace.commit_events})
          for (std::size_t i = 0; i < events->size(); ++i)
            out.add((*events)[i].request, i,
                    [&](auto visit) { for_each_cache_event_field((*events)[i], visit); });
      });
}

BreakKind lookup_group_kind() {
  return make_kind(
      "lookup_group", "one KV-cache group's part in a lookup",
      [](auto visit) {
        visit("request", RequestId{});
        visit("group", std::int32_t{0});
        for_each_group_lookup_field(kSample<GroupLookup>, visit);
      },
      [](const BreakStep& step, Collector& out) {
        for (const AdmissionLookup& lookup : step.trace.lookups)
          for (std::size_t g = 0; g < lookup.explanation.groups.size(); ++g)
            out.add(lookup.request, g, [&](auto visit) {
              visit("request", lookup.request);
              visit("group", g);
              for_each_group_lookup_field(lookup.explanation.groups[g], visit);
            });
      });
}

}  // namespace

std::vector<BreakKind> break_kinds() {
  std::vector<BreakKind> kinds;
  kinds.push_back(step_kind());
  kinds.push_back(block_kind());
  kinds.push_back(copy_kind());
  kinds.push_back(row_kind());
  kinds.push_back(list_kind<CommitTrace>(
      "commit", "what the frame that returned brought a request",
      [](const BreakStep& step) -> const auto& { return step.trace.committed; },
      for_each_commit_field));
  kinds.push_back(list_kind<CommandTrace>(
      "command", "a command before the step",
      [](const BreakStep& step) -> const auto& { return step.trace.commands; },
      for_each_command_field));
  kinds.push_back(list_kind<AdmissionLookup>(
      "lookup", "a prefix-cache lookup of a waiting request",
      [](const BreakStep& step) -> const auto& { return step.trace.lookups; },
      for_each_lookup_field));
  kinds.push_back(event_kind());
  kinds.push_back(write_kind());
  kinds.push_back(list_kind<Finding>(
      "finding", "a finding; the word alone: there is one",
      [](const BreakStep& step) { return step.findings; }, for_each_finding_field));
  kinds.push_back(lookup_group_kind());
  kinds.push_back(list_kind<SkippedRequest>(
      "skipped", "a request that got no tokens",
      [](const BreakStep& step) -> const auto& { return step.trace.skipped; },
      for_each_skipped_field));
  kinds.push_back(table_kind());
  kinds.push_back(state_copy_kind());
  kinds.push_back(metadata_kind());
  return kinds;
}

std::string break_value_words(const BreakField& field, std::int64_t value,
                              const RequestName& name) {
  if (field.type == BreakType::flag) return value != 0 ? "yes" : "no";
  if (field.type == BreakType::request)
    return value < 0 ? "nobody" : name(RequestId{static_cast<std::int32_t>(value)});
  if (field.type == BreakType::word && value >= 0 &&
      value < static_cast<std::int64_t>(field.words.size()))
    return std::string(field.words[static_cast<std::size_t>(value)]);
  return std::to_string(value);
}

namespace {

constexpr std::size_t kWidth = 100;

// Appends words and wraps them to indented lines.
class Paragraph {
 public:
  explicit Paragraph(std::string indent) : indent_(std::move(indent)) {}
  void add(const std::string& word) {
    if (!line_.empty() && indent_.size() + line_.size() + 1 + word.size() > kWidth) end_line();
    line_ += (line_.empty() ? "" : " ") + word;
  }
  std::string take() {
    end_line();
    return std::move(text_);
  }

 private:
  void end_line() {
    if (!line_.empty()) text_ += indent_ + line_ + "\n";
    line_.clear();
  }
  std::string indent_;
  std::string line_;
  std::string text_;
};

std::string fields_of(const BreakKind& kind) {
  Paragraph fields("  ");
  for (const BreakField& field : kind.fields) fields.add(field.name);
  std::string text = fields.take();
  for (const BreakField& field : kind.fields)
    if (!field.words.empty()) {
      Paragraph words("      ");
      words.add(field.name + ":");
      for (const std::string_view word : field.words) words.add(std::string(word));
      text += words.take();
    }
  return text;
}

}  // namespace

std::string break_help() {
  std::string text =
      "A break expression asks about one step: fields, numbers, words and names of requests with\n"
      "== != < <= > >= && || ! + - * / % and parentheses. It holds when things of the step can be\n"
      "picked, one of each kind that is named, of one request, for which it is true.\n"
      "\n"
      "  copy.copies && copy.src_col==copy.dst_col && copy.accept_token_bias>0\n"
      "  finding            block==17 && written            row.request==A && "
      "row.num_draft_tokens==0\n";
  for (const BreakKind& kind : break_kinds())
    text += fmt::format("\n{}{}\n{}",
                        kind.name.empty() ? "" : std::string(kind.name) + ".FIELD: ", kind.meaning,
                        fields_of(kind));
  return text;
}

}  // namespace hybridscope
