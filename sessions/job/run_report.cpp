#include "sessions/job/run_report.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "sessions/explain/explain_start_up.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// The resolved configuration and the given "settings": enough to run the same again.
nlohmann::ordered_json config_to_json(const RunPlan& plan) {
  const EngineConfig& config = plan.setup.config;
  const ModelLayout& layout = plan.setup.layout;
  return {{"name", plan.name},
          {"model", layout.model.name},
          {"settings", settings_to_json(plan.settings)},
          {"mamba_cache_mode", mamba_cache_mode_name(config.mamba_cache_mode)},
          {"enable_prefix_caching", config.enable_prefix_caching},
          {"num_speculative_tokens", config.num_speculative_tokens},
          {"acceptance_rate", config.acceptance_rate},
          {"block_size", config.block_size},
          {"num_blocks", config.kv_cache_config.num_blocks},
          {"num_groups", config.kv_cache_config.groups.size()},
          {"max_model_len", config.max_model_len},
          {"max_num_seqs", config.max_num_seqs},
          {"max_num_batched_tokens", config.max_num_batched_tokens},
          {"seed", config.seed},
          {"profile", profile_name(plan.settings)},
          {"start_up", start_up_to_json(plan.setup)},
          {"notes", plan.notes}};
}

nlohmann::ordered_json starvation_to_json(const Starvation& starvation,
                                          const EngineConfig& config) {
  nlohmann::ordered_json requests = nlohmann::ordered_json::array();
  for (const auto& [waited, name] : starvation.requests)
    requests.push_back({{"request", name},
                        {"first_step", waited.first_step},
                        {"last_step", waited.last_step},
                        {"num_steps", waited.num_steps},
                        {"most_tokens_left", waited.most_tokens_left}});
  nlohmann::ordered_json json = {{"requests", requests}, {"max_num_batched_tokens", nullptr}};
  if (starvation.max_num_batched_tokens)
    json["max_num_batched_tokens"] = *starvation.max_num_batched_tokens;
  json["text"] = starvation.words(config);
  return json;
}

}  // namespace

std::string format_summary(const RunPlan& plan, const RunReport& report) {
  const RunSummary& s = report.summary;
  std::string text = fmt::format(
      "{}, {}; {} of {} finished, {}\n"
      "{}, {} of them from the prefix cache; {}\n"
      "{}, {} bytes; {} in graphs\n",
      counted(s.steps, "step"), counted(s.request_steps, "request-step"),
      grouped_number(s.requests_finished),
      counted(static_cast<std::int64_t>(plan.requests.size()), "request"),
      counted(s.preemptions, "preemption"), counted(s.prompt_tokens, "prompt token"),
      grouped_number(s.prefix_hit_tokens), counted(s.output_tokens, "output token"),
      s.state_copies == 1 ? "1 state copy" : grouped_number(s.state_copies) + " state copies",
      grouped_number(s.state_copy_bytes), counted(s.graph_padded_tokens, "padding token"));
  if (report.wall_seconds)
    text += fmt::format("{:.2f} s wall, {:.0f} MiB peak memory\n", *report.wall_seconds,
                        static_cast<double>(report.peak_rss_bytes.value_or(0)) / 1048576.0);
  if (report.state) text += format_state_in_bytes(*report.state);
  if (report.language) text += speech_words(*report.language) + "\n";
  if (report.texts) text += format_spoken(*report.texts);
  text += report.findings.format_left_out();
  for (const ExcusedFindings& excused : report.excused) text += excused_words(excused) + "\n";
  if (report.starvation)
    text += fmt::format("warning: {}\n", report.starvation->words(plan.setup.config));
  for (const std::string& unmet : report.unmet) text += "expectation not met: " + unmet + "\n";
  if (!report.stopped.empty()) text += "the run is not complete: " + report.stopped + "\n";
  const std::int64_t errors = report.findings.num_found(Severity::error);
  const std::int64_t warnings = report.findings.num_found(Severity::warning);
  if (errors == 0)
    text += report.stopped.empty() ? "no findings: every block held what it should after every step"
                                   : "no findings so far";
  else
    text += counted(errors, "finding") +
            (report.findings.num_unexpected(Severity::error) == 0 ? ", all of them expected" : "");
  if (warnings > 0) text += "; " + counted(warnings, "warning");
  return text + "\n";
}

nlohmann::ordered_json report_to_json(const RunPlan& plan, const RunReport& report) {
  const RunSummary& s = report.summary;
  nlohmann::ordered_json summary = {{"steps", s.steps},
                                    {"request_steps", s.request_steps},
                                    {"requests_finished", s.requests_finished},
                                    {"prompt_tokens", s.prompt_tokens},
                                    {"prefix_hit_tokens", s.prefix_hit_tokens},
                                    {"output_tokens", s.output_tokens},
                                    {"preemptions", s.preemptions},
                                    {"state_copies", s.state_copies},
                                    {"state_copy_bytes", s.state_copy_bytes},
                                    {"graph_padded_tokens", s.graph_padded_tokens},
                                    {"findings", report.findings.num_found(Severity::error)},
                                    {"warnings", report.findings.num_found(Severity::warning)},
                                    {"findings_by_rule", report.findings.by_rule()},
                                    {"complete", report.stopped.empty()}};
  if (report.wall_seconds) summary["wall_seconds"] = *report.wall_seconds;
  if (report.peak_rss_bytes) summary["peak_rss_bytes"] = *report.peak_rss_bytes;
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const KeptFinding* kept : report.findings.shown()) findings.push_back(*kept->json);
  nlohmann::ordered_json json = {{"config", config_to_json(plan)},
                                 {"state", state_to_json(report.state)},
                                 {"summary", summary},
                                 {"roots", report.findings.roots_json()},
                                 {"findings", findings}};
  if (report.language)
    json["language_model"] = {{"weights", report.language->weights},
                              {"form", numeric_form_name(report.language->form)}};
  if (report.texts) json["texts"] = spoken_to_json(*report.texts);
  for (const ExcusedFindings& excused : report.excused)
    json["excused"].push_back({{"source", excused.source}, {"findings", excused.findings}});
  if (report.starvation)
    json["starvation"] = starvation_to_json(*report.starvation, plan.setup.config);
  if (!report.unmet.empty()) json["unmet_expectations"] = report.unmet;
  if (!report.stopped.empty()) json["stopped"] = report.stopped;
  std::vector<std::string> notes = plan.notes;
  if (std::string note = report.findings.fresh_arrays_note(); !note.empty())
    notes.push_back(std::move(note));
  if (!notes.empty()) json["notes"] = notes;
  return json;
}

namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 10> kNames = {
    "ok",      "skipped",     "stopped",        "unmet",       "findings",
    "invalid", "environment", "internal error", "interrupted", "not run"};
static_assert(kNames.size() == static_cast<std::size_t>(RunOutcome::not_run) + 1);

}  // namespace

std::string_view outcome_name(RunOutcome outcome) {
  return kNames[static_cast<std::size_t>(outcome)];
}

RunOutcome outcome_of(const RunReport& report, bool strict) {
  if (report.findings.num_unexpected(Severity::error) > 0 ||
      (strict && report.findings.num_unexpected(Severity::warning) > 0))
    return RunOutcome::findings;
  if (!report.unmet.empty()) return RunOutcome::unmet;
  return report.stopped.empty() ? RunOutcome::fine : RunOutcome::stopped;
}

}  // namespace hybridscope
