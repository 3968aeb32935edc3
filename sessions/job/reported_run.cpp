#include "sessions/job/reported_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/explain/explain_start_up.h"
#include "sessions/job/state_option.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/record/session_plan.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// So many beginnings of chains of a run can be put down to known bugs; each asks for runs of its
// own.
constexpr std::size_t kMaxRootsExcused = 100;

// The most rows of the runs that look for settings with which nobody starves.
constexpr std::int64_t kMostRowsWithOtherBudgets = 1'000'000;

}  // namespace

Result<std::unique_ptr<ReportedRun>> ReportedRun::create(RunPlan plan, const RunOptions& options,
                                                         const Backends& backends) {
  CheckedRunOptions checks{.check = options.check};
  Kept kept{.state = {}, .language = {}, .known = options.known};
  if (options.state.in_bytes()) {
    auto bytes = make_state_bytes(options.state, plan, backends);
    if (!bytes.ok()) return bytes.error();
    checks.state = std::move(bytes.value().backend);
    kept.state = std::move(bytes.value().held);
  }
  if (options.state.is_numeric()) {
    auto language = load_language(options.state, backends);
    if (!language.ok()) return language.error();
    checks.language = language.value();
    checks.keeps_speech = !options.files.record.place.empty();
    auto info = make_speech_info(*checks.language.model, plan.setup.config.kv_cache_config,
                                 options.state.weights, checks.language.form);
    if (!info.ok()) return info.error();
    kept.language = std::move(info).value();
    kept.model = std::move(language).value();
  }
  auto run = CheckedRun::create(std::move(plan), std::move(checks));
  if (!run.ok()) return run.error();
  return std::unique_ptr<ReportedRun>(
      new ReportedRun(std::move(run).value(), options, std::move(kept)));
}

ReportedRun::ReportedRun(CheckedRun run, const RunOptions& options, Kept kept)
    : run_(std::move(run)),
      scope_(options.check),
      max_steps_(options.steps),
      names_(make_names(run_.engine())),
      summary_(run_.engine().config()),
      starvation_(run_.engine().config()),
      expectation_(run_.plan().expect),
      known_(std::move(kept.known)),
      language_(std::move(kept.model)) {
  report_.state = std::move(kept.state);
  report_.language = std::move(kept.language);
  if (report_.language) report_.findings.set_runs_replays();
}

Status ReportedRun::digest_state() {
  if (run_.state_backend() == nullptr) return Ok{};
  const auto digest = digest_all_blocks(*run_.state_backend());
  if (!digest.ok()) return digest.error();
  report_.state->digest = digest.value();
  report_.state->delays = run_.state_backend()->delays();
  return Ok{};
}

Driven ReportedRun::drive(std::span<StepSink* const> sinks, const StopAsked& stop) {
  std::vector<StepSink*> all = {this};
  all.insert(all.end(), sinks.begin(), sinks.end());
  return hybridscope::drive(run_, all, [&] { return is_at_its_limit() || (stop && stop()); });
}

std::string ReportedRun::progress_words() const {
  return fmt::format("step {}, {} of {} requests finished, {} findings", summary().steps,
                     summary().requests_finished, plan().requests.size(), num_errors());
}

Result<Going> ReportedRun::take(const CheckedStep& step) {
  summary_.add(step.trace);
  starvation_.add(step.trace);
  report_.findings.add(
      step.trace, step.findings, [this](const Finding& finding) { return expects(finding); },
      names_);
  return Going::on;
}

bool ReportedRun::expects(const Finding& finding) {
  if (expectation_.expects(finding, names_)) return true;
  if (known_.collected != nullptr) known_.collected->add(plan().name, finding, names_);
  if (known_.known != nullptr && known_.known->has(plan().name, finding, names_)) {
    ++num_in_baseline_;
    return true;
  }
  return known_.collected != nullptr;
}

std::string ReportedRun::why_stopped(const EarlyEnd& end) const {
  if (!end.refused.empty()) return end.refused;
  if (finished()) return {};
  if (end.interrupted) return fmt::format("interrupted after {} steps", summary().steps);
  if (end.unwritten) return "its session or trace could not be written";
  if (run_.end() == EndReason::no_progress) return "it cannot progress";
  if (!end.broken.empty()) return end.broken;
  return fmt::format("stopped after {} steps, as asked; expectations were not checked",
                     summary().steps);
}

void ReportedRun::excuse(const std::string& source, std::int64_t findings) {
  if (findings == 0) return;
  const auto known = std::ranges::find(report_.excused, source, &ExcusedFindings::source);
  if (known == report_.excused.end())
    report_.excused.push_back({.source = source, .findings = findings});
  else
    known->findings += findings;
}

void ReportedRun::find_causes() {
  const CauseSearchOptions options{.scope = scope_, .language = language_};
  if (known_.known_bugs) return excuse_known_bugs(options);
  report_.findings.find_causes([&](std::span<const Finding> findings) {
    return find_cause_words(plan(), findings, options);
  });
}

void ReportedRun::excuse_known_bugs(const CauseSearchOptions& options) {
  FindingList& findings = report_.findings;
  std::vector<Finding> beginnings;
  for (const FindingRoot& root : findings.roots()) {
    if (beginnings.size() == kMaxRootsExcused) break;
    beginnings.push_back(root.finding);
  }
  const std::size_t num_roots = beginnings.size();
  for (const WarningBeginning& warning : findings.kinds_of_warnings())
    beginnings.push_back(warning.chain.finding);
  const std::vector<FindingCause> causes = hybridscope::find_causes(plan(), beginnings, options);
  KnownFindings known(plan());
  const bool all_searched =
      num_roots == findings.roots().size() &&
      std::ranges::all_of(causes, &std::string::empty, &FindingCause::not_searched);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const bool excused = known.explains(causes[i]);
    CauseWords words{.cause = causes[i].words, .not_known = causes[i].not_searched};
    if (i < num_roots)
      findings.set_cause(i, std::move(words));
    else
      findings.set_warning_cause(i - num_roots, std::move(words));
    if (excused)
      excuse(causes[i].words,
             i < num_roots ? findings.excuse_root(i) : findings.excuse_warning(i - num_roots));
  }
  if (!has_ended()) return;
  for (std::string& missing : known.missing(all_searched))
    report_.unmet.push_back(std::move(missing));
}

RunReport ReportedRun::finish(const EarlyEnd& end) {
  report_.summary = summary();
  report_.stopped = why_stopped(end);
  if (report_.state) report_.state->num_elements_verified = run_.num_elements_verified();
  if (run_.has_language()) report_.texts = spoken_words(run_.texts(), run_.vocab_size(), names_);
  report_.starvation = find_starvation(run_.plan(), starvation_, names_,
                                       end.interrupted ? 0 : kMostRowsWithOtherBudgets);
  if (has_ended()) report_.unmet = expectation_.unmet(report_.summary);
  if (end.timings)
    report_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  find_causes();
  if (num_in_baseline_ > 0) excuse("the baseline " + known_.baseline, num_in_baseline_);
  return std::move(report_);
}

Result<StepFiles> begin_run_files(const RunOptions& options, const ReportedRun& run) {
  const auto header = [&]() -> Result<SessionHeader> {
    SessionHeader of = run_header(run.plan(), run.scope());
    of.source = options.scenario.empty() ? options.traffic : options.scenario;
    of.language = run.language();
    return of;
  };
  return StepFiles::begin(
      options.files,
      {.header = header, .names = run.names(), .engine = &run.engine(), .plan = &run.plan()});
}

StepsEnd steps_end(const ReportedRun& run, const EarlyEnd& end) {
  if (!end.refused.empty()) return {.status = SessionStatus::failed, .reason = end.refused};
  if (end.interrupted)
    return {.status = SessionStatus::interrupted, .reason = run.why_stopped(end)};
  if (run.finished()) return {};
  return {.status = SessionStatus::stopped, .reason = run.why_stopped(end)};
}

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
