#include "sessions/report/report_steps.h"

#include <fmt/core.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/record/value_names.h"
#include "sessions/report/report_cells.h"

namespace hybridscope {

namespace {

// JavaScript represents every number with this many digits exactly.
constexpr std::size_t kMaxDigits = 15;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Does printing the number give back the same digits? Not with a leading zero.
bool is_number(std::string_view digits) {
  return digits.size() <= kMaxDigits && (digits.size() == 1 || digits.front() != '0');
}

std::int64_t number_of(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

void put(nlohmann::json& object, const char* key, nlohmann::json value) {
  if (!value.empty()) object[key] = std::move(value);
}

nlohmann::json commits(const StepTrace& trace) {
  nlohmann::json list = nlohmann::json::array();
  for (const CommitTrace& commit : trace.committed)
    list.push_back({commit.request.value, static_cast<int>(commit.outcome),
                    commit.num_computed_tokens, commit.num_tokens, commit.num_appended_tokens,
                    commit.num_drafts_next, commit.num_output_placeholders,
                    commit.finished ? 1 : 0});
  return list;
}

nlohmann::json counts(const StepCounts& counts) {
  nlohmann::json list = nlohmann::json::array();
  for_each_count_field(counts, [&list](std::string_view, auto value) { list.push_back(value); });
  return list;
}

// The number of events of each CacheEventKind.
nlohmann::json event_counts(const StepTrace& trace) {
  std::vector<int> number(static_cast<std::size_t>(num_codes<CacheEventKind>()));
  for (const auto* events : {&trace.cache_events, &trace.commit_events})
    for (const CacheEvent& event : *events) ++number[static_cast<std::size_t>(event.kind)];
  return number;
}

nlohmann::json preempted(const StepTrace& trace) {
  nlohmann::json list = nlohmann::json::array();
  for (const RequestId request : trace.preempted) list.push_back(request.value);
  return list;
}

nlohmann::json terms(const StateCopyDecision& d) {
  return {d.num_computed_tokens,
          d.num_scheduled_tokens,
          d.num_draft_tokens,
          d.num_accepted_tokens,
          d.block_size,
          d.mamba_state_idx,
          d.computed_after,
          d.num_tokens_running_state,
          d.new_num_computed_tokens,
          d.aligned_new_computed,
          d.accept_token_bias,
          d.src_col,
          d.dst_col,
          d.resets_accepted_count ? 1 : 0};
}

nlohmann::json copies_of(const CopyLaunch& launch, std::size_t decision) {
  nlohmann::json list = nlohmann::json::array();
  for (const StateCopyTrace& copy : launch.copies)
    if (static_cast<std::size_t>(copy.decision) == decision)
      list.push_back({copy.group, copy.conv_src_block, copy.temporal_src_block, copy.dst_block});
  return list;
}

}  // namespace

nlohmann::json ReportTexts::add(std::string_view text) {
  std::vector<std::string> pieces(1);
  nlohmann::json reference = nlohmann::json::array();
  reference.push_back(0);
  while (!text.empty()) {
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length])) ++length;
    if (length > 0 && is_number(text.substr(0, length))) {
      reference.push_back(number_of(text.substr(0, length)));
      pieces.emplace_back();
    } else {
      while (length < text.size() && !is_digit(text[length])) ++length;
      pieces.back() += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  const auto [place, added] = places_.emplace(std::move(pieces), templates_.size());
  if (added) templates_.push_back(&place->first);
  reference.front() = place->second;
  return reference;
}

nlohmann::json ReportTexts::templates() const {
  nlohmann::json list = nlohmann::json::array();
  for (const auto* pieces : templates_) list.push_back(*pieces);
  return list;
}

void ReportTexts::truncate(std::size_t size) {
  while (templates_.size() > size) {
    places_.erase(*templates_.back());
    templates_.pop_back();
  }
}

nlohmann::json ReportSteps::commands(const StepTrace& trace) {
  nlohmann::json list = nlohmann::json::array();
  for (const CommandTrace& command : trace.commands) {
    std::string text(command_name(command.command));
    if (command.request.value >= 0) text += " " + names_.request(command.request);
    if (command.command == CommandKind::add_request)
      text += fmt::format(" with a prompt of {} tokens", command.value);
    else if (command.value != 0)
      text += fmt::format(" {}", command.value);
    if (command.outcome == CommandOutcome::ignored)
      text += fmt::format(", ignored: {}", ignored_reason_words(command.reason));
    list.push_back(texts_.add(text));
  }
  return list;
}

nlohmann::json ReportSteps::lookups(const StepTrace& trace) {
  nlohmann::json list = nlohmann::json::array();
  for (const AdmissionLookup& lookup : trace.lookups)
    list.push_back({lookup.request.value, lookup.admitted ? 1 : 0, lookup.num_hit_tokens,
                    texts_.add(explain_lookup(lookup, config_, names_))});
  return list;
}

nlohmann::json ReportSteps::skipped(const StepTrace& trace) {
  nlohmann::json list = nlohmann::json::array();
  for (const SkippedRequest& skipped : trace.skipped)
    list.push_back({skipped.request.value, texts_.add(explain_skip(skipped.reason))});
  return list;
}

nlohmann::json ReportSteps::block_copies(const StepTrace& trace) {
  nlohmann::json list = nlohmann::json::array();
  for (const ExplainedBlockCopy& explained :
       explained_block_copies(trace, config_.kv_cache_config)) {
    const BlockCopy& copy = explained.copy;
    list.push_back({copy.request.value, copy.group, copy.source_block, copy.block,
                    texts_.add(block_copy_words(explained, names_)), texts_.add(kBlockCopySource)});
  }
  return list;
}

nlohmann::json ReportSteps::rows(const StepTrace& trace) {
  nlohmann::json list = nlohmann::json::array();
  for (const RowTrace& row : trace.rows) {
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    const auto own = roots_.own_counts().before(trace.step, row.request);
    list.push_back(
        {row.request.value, static_cast<int>(row.row_class), row.num_computed_tokens,
         scheduled.num_scheduled_tokens, scheduled.num_draft_tokens, row.num_accepted_tokens,
         row.num_sampled_tokens, static_cast<int>(scheduled.admission), scheduled.num_hit_tokens,
         scheduled.num_prompt_tokens, row.slot, static_cast<int>(row.origin),
         scheduled.samples() ? 1 : 0, texts_.add(count_origin_words(trace, row, own, names_)),
         is_wrong_count(trace, row, own) ? 1 : 0});
  }
  return list;
}

void ReportSteps::add_decisions(const StepTrace& trace, std::int32_t launch_number,
                                nlohmann::json& decisions) {
  const CopyLaunch& launch = launch_number == 0 ? trace.pre_copies : trace.post_copies;
  for (std::size_t i = 0; i < launch.decisions.size(); ++i) {
    const CopyDecisionTrace& decided = launch.decisions[i];
    nlohmann::json entry = {
        launch_number, decided.request.value, decided.row,
        static_cast<int>(decided.decision.outcome),
        texts_.add(explain_decision(
            decided.decision, {},
            remembered_words(trace, decided.request,
                             roots_.own_counts().before(trace.step, decided.request))))};
    if (decided.decision.copies()) {
      entry.push_back(texts_.add(decision_source(decided.decision.rule)));
      entry.push_back(terms(decided.decision));
      entry.push_back(copies_of(launch, i));
    }
    decisions.push_back(std::move(entry));
  }
}

// Adds the step that the finding follows from, or 0 and the decision behind it. Returns the number
// of the chain that it follows from; empty: it begins one.
std::optional<std::size_t> ReportSteps::add_root(const StepTrace& trace, const Finding& finding,
                                                 nlohmann::json& entry) {
  const std::size_t known = roots_.roots().size();
  const std::size_t root = roots_.add(finding);
  if (root < known) {
    entry.push_back(roots_.roots()[root].finding.step);
    return root;
  }
  entry.push_back(0);
  entry.push_back(texts_.add(roots_.decision(trace, finding, names_)));
  if (find_cause_ && root < kMaxRootsWithCause)
    if (const std::string cause = find_cause_(finding); !cause.empty())
      entry.push_back(texts_.add(cause));
  return std::nullopt;
}

// Findings of a chain that differ only in group and kind of state are told in the line of the first
// of them.
nlohmann::json ReportSteps::findings(const StepRecord& record) {
  constexpr std::size_t kWords = 7;
  constexpr std::size_t kIsTold = 8;
  nlohmann::json list = nlohmann::json::array();
  std::map<std::size_t, std::vector<std::size_t>> following;  // by chain, indices
  for (const Finding& finding : record.findings) {
    const RuleInfo& rule = rule_info(finding.rule);
    const bool error = rule.severity == Severity::error;
    nlohmann::json entry = {texts_.add(rule.slug), error ? 1 : 0, finding.request.value,
                            finding.row,           finding.group, finding.column,
                            finding.block,         nullptr,       0};
    if (error) {
      if (const auto chain = add_root(record.trace, finding, entry))
        following[*chain].push_back(list.size());
    } else {
      roots_.add_warning(finding);
    }
    list.push_back(std::move(entry));
  }
  for (const auto& [chain, indices] : following) {
    std::vector<const Finding*> findings;
    for (const std::size_t index : indices) findings.push_back(&record.findings[index]);
    for (const FindingLine& line : lines_of_findings(findings)) {
      std::vector<const Finding*> members;
      for (const std::size_t member : line) members.push_back(findings[member]);
      list[indices[line.front()]][kWords] = texts_.add(explain_findings(members, names_));
      for (const std::size_t member : std::span(line).subspan(1))
        list[indices[member]][kIsTold] = 1;
    }
  }
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i][kWords].is_null())
      list[i][kWords] = texts_.add(explain_finding(record.findings[i], names_));
  roots_.end_step(record.trace);
  return list;
}

nlohmann::json ReportSteps::step(const StepRecord& record) {
  const StepTrace& trace = record.trace;
  nlohmann::json step = {
      {"n", trace.step},
      {"of",
       {trace.committed_step, trace.time_us, trace.duration_us, trace.token_budget,
        trace.num_scheduled_tokens, trace.num_running, trace.num_waiting, trace.num_free_blocks,
        trace.num_unfinished, trace.graph.num_tokens_padded, trace.graph.num_reqs_padded,
        static_cast<int>(trace.graph.runtime_mode)}},
      {"k", counts(record.counts)}};
  put(step, "g",
      texts_.add(explain_dispatch({.dispatch = trace.graph,
                                   .num_tokens = trace.num_scheduled_tokens,
                                   .num_reqs = record.counts.num_reqs,
                                   .uniform_decode = trace.uniform_decode,
                                   .num_spec = config_.num_speculative_tokens})));
  put(step, "cmd", commands(trace));
  put(step, "r", rows(trace));
  put(step, "cm", commits(trace));
  put(step, "lk", lookups(trace));
  put(step, "sk", skipped(trace));
  put(step, "pr", preempted(trace));
  put(step, "e", block_ops(trace.cache_events));
  put(step, "ce", block_ops(trace.commit_events));
  put(step, "w", block_ops(record.worker_changes));
  if (!trace.cache_events.empty() || !trace.commit_events.empty()) step["ec"] = event_counts(trace);
  cells_.take(record);
  put(step, "u", cells_.changed_codes());
  put(step, "as", cells_.assumed_groups());
  put(step, "bc", block_copies(trace));
  nlohmann::json decisions = nlohmann::json::array();
  add_decisions(trace, 0, decisions);
  add_decisions(trace, 1, decisions);
  put(step, "d", std::move(decisions));
  put(step, "f", findings(record));
  return step;
}

}  // namespace hybridscope
