#include "sessions/job/judge_session.h"

#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/engine/scheduler_setup.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/explain/explain_step.h"
#include "sessions/job/step_files.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/known_bugs/policy_runs.h"
#include "sessions/record/session_plan.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

Result<TraceInput> TraceInput::open(const std::string& path, std::function<bool()> stop) {
  TraceInput input;
  auto lines = LineSource::open(path, std::move(stop));
  if (!lines.ok()) return lines.error();
  input.lines_.emplace(std::move(lines).value());
  return input;
}

TraceInput TraceInput::follow(const std::string& place, std::function<bool()> stop,
                              std::function<void(std::string_view)> note) {
  TraceInput input;
  input.followed_ = std::make_unique<Followed>(place, std::move(stop), std::move(note));
  return input;
}

Result<std::optional<TraceInput::Line>> TraceInput::next() {
  if (followed_ != nullptr) return next_followed();
  const auto line = lines_->next();
  if (!line.ok()) return line.error();
  if (!line.value()) return std::optional<Line>();
  number_ = lines_->line_number();
  return std::optional(Line{.text = *line.value(), .number = number_});
}

Result<std::optional<TraceInput::Line>> TraceInput::next_followed() {
  while (!followed_->stop()) {
    const auto line = followed_->trace.next();
    if (!line.ok()) return line.error();
    switch (line.value().kind) {
      case FollowedLine::Kind::trace:
        number_ = line.value().number;
        is_within_trace_ = true;
        return std::optional(Line{.text = line.value().text, .number = number_});
      case FollowedLine::Kind::control:
        if (line.value().control.kind == ControlLine::Kind::end) is_within_trace_ = false;
        if (line.value().control.kind == ControlLine::Kind::full)
          followed_->note(line.value().control.reason);
        break;
      case FollowedLine::Kind::ended:
        if (followed_->stop()) return std::optional<Line>();
        if (!followed_->input.is_socket()) break;
        end_of_stream(line.value().is_cut);
        return std::optional<Line>();
    }
  }
  return std::optional<Line>();
}

void TraceInput::end_of_stream(bool is_cut) {
  if (is_cut)
    ended_early_ = "in the middle of a line";
  else if (is_within_trace_)
    ended_early_ = "without an end mark";
}

CommandFiles files_of(const JudgeOptions& options) {
  return {.inputs = {{"the trace", options.input.starts_with("unix:") ? "" : options.input}},
          .outputs = outputs_of(options.files)};
}

JudgeSession::JudgeSession(const JudgeOptions& options, Note note)
    : options_(options),
      note_(std::move(note)),
      trace_(
          options.input, options.check,
          [this](const ForeignHeader& header) { return ends_previous_and_wants(header); },
          options.language) {
  report_.input = trace_.file();
  report_.engine = options.engine;
  if (options.language.model != nullptr)
    report_.language = {.weights = weights_name(options.language.folder),
                        .form = options.language.form,
                        .vocab_size = options.language.model->vocab_size,
                        .layers = {}};
}

Result<std::optional<CheckedStep>> JudgeSession::judge(PaddedLine text, std::int64_t line) {
  return follow(trace_.take(text, line), text.text);
}

Result<std::optional<CheckedStep>> JudgeSession::judge(std::string_view text, std::int64_t line) {
  return follow(trace_.take(text, line), text);
}

Driven JudgeSession::note_failure(Driven handed) {
  if (!handed.ok() && handed.refused_by == &files_) file_failure_ = handed.error();
  return handed;
}

bool JudgeSession::ends_previous_and_wants(const ForeignHeader& header) {
  finish(SessionStatus::complete, "");
  has_more_traces_ = options_.only_first && !report_.traces.empty();
  return !file_failure_ && !has_more_traces_ &&
         header.name.find(options_.filter) != std::string::npos;
}

Result<std::optional<CheckedStep>> JudgeSession::follow(const Result<JudgedLine>& taken,
                                                        std::string_view text) {
  if (!taken.ok()) return taken.error();
  if (file_failure_) return *file_failure_;
  if (taken.value().step) {
    if (options_.finds_causes) kept_.add(text);
    report_step(*taken.value().step);
  } else if (taken.value().kind == TraceLine::header && trace_.has_begun()) {
    if (Status begun = begin(text); !begun.ok()) return begun.error();
  }
  return taken.value().step;
}

void JudgeSession::tell_corrections(const EngineConfig& config) const {
  if (!note_) return;
  const auto cudagraphs = resolve_cudagraphs(config);
  if (!cudagraphs.ok()) return;
  for (const CudagraphCorrection& correction : cudagraphs.value().corrections)
    note_(correction_words(correction));
}

Status JudgeSession::begin(std::string_view text) {
  const ForeignHeader& header = trace_.reader().header();
  if (Status begun = begin_comparison(); !begun.ok()) {
    trace_.end();
    return begun;
  }
  tell_corrections(header.config);
  TraceReport& trace = report_.traces.emplace_back();
  trace.name = header.name;
  trace.engine = header.engine;
  trace.line = trace_.line();
  if (options_.language.model != nullptr) trace.findings.set_runs_replays();
  if (options_.finds_causes) kept_.begin(text);
  return begin_files(text);
}

Result<SessionHeader> JudgeSession::session_header(std::string_view header_line) const {
  const ForeignHeader& foreign = trace_.reader().header();
  SessionHeader header =
      judge_header({.source = foreign.name.empty() ? report_.input : foreign.name,
                    .engine = foreign.engine,
                    .header_line = header_line,
                    .config = foreign.config,
                    .scope = options_.check});
  if (const LanguageModel& language = options_.language; language.model != nullptr) {
    auto info = make_speech_info(*language.model, foreign.config.kv_cache_config, language.folder,
                                 language.form);
    if (!info.ok()) return info.error();
    header.language = std::move(info).value();
  }
  return header;
}

// The second trace of an input cannot have the first one's name.
Status JudgeSession::begin_files(std::string_view header_line) {
  const std::size_t number = report_.traces.size();
  auto begun =
      StepFiles::begin(options_.files, {.header = [&] { return session_header(header_line); },
                                        .names = trace_.names(),
                                        .suffix = number > 1 ? fmt::format("-{}", number) : ""});
  if (!begun.ok()) {
    file_failure_ = begun.error();
    return begun.error();
  }
  files_ = std::move(begun).value();
  if (any_wants_writes(sinks_)) trace_.log_writes();
  return Ok{};
}

Status JudgeSession::begin_comparison() {
  if (options_.engine.empty()) return Ok{};
  const ForeignHeader& header = trace_.reader().header();
  if (note_ && header.policies != PolicyOverrides())
    note_(fmt::format("{}: the policies in its header override those of profile {}",
                      header.name.empty() ? "the trace" : header.name, options_.engine));
  auto comparison = EngineComparison::create(
      header, compared_policies(header, *parse_engine_profile(options_.engine)),
      [this](RequestId id) { return trace_.reader().name_of(id); }, OtherHit::untold_key);
  if (!comparison.ok()) return trace_.at_line(comparison.error());
  comparison_.emplace(std::move(comparison).value());
  return Ok{};
}

void JudgeSession::report_step(const CheckedStep& step) {
  if (comparison_) comparison_->compare(trace_.reader().step());
  TraceReport& trace = report_.traces.back();
  trace.findings.add(step.trace, step.findings, {}, trace_.names());
  trace.finding_lines.resize(trace.findings.kept().size(), trace_.line());
}

std::string JudgeSession::explain(const CheckedStep& step) const {
  return explain_step({.trace = step.trace,
                       .config = trace_.trace_judge().config(),
                       .names = trace_.names(),
                       .scheduler_tables = trace_.trace_judge().scheduler_tables(),
                       .findings = step.findings,
                       .own_count =
                           [&](RequestId request) {
                             return report_.traces.back().findings.own_counts().before(
                                 step.trace.step, request);
                           },
                       .chain_words = report_.traces.back().findings.last_chain_words()});
}

JudgeReport& JudgeSession::report() {
  if (trace_.has_begun()) count_steps();
  return report_;
}

void JudgeSession::count_steps() {
  TraceReport& trace = report_.traces.back();
  const TraceJudge& judge = trace_.trace_judge();
  trace.steps = judge.num_steps();
  trace.request_steps = judge.num_request_steps();
  trace.memory_steps = judge.num_memory_steps();
  trace.untold = judge.untold().words();
  for (std::size_t i = 0; i < kNumComputed; ++i)
    trace.computed[i] = judge.num_computed(static_cast<Computed>(i));
}

void JudgeSession::find_causes() {
  FindingList& findings = report_.traces.back().findings;
  std::vector<FindingRoot> beginnings = findings.roots();
  beginnings.resize(std::min(beginnings.size(), kMaxRootsWithCause));
  const std::size_t num_roots = beginnings.size();
  for (const WarningBeginning& warning : findings.warnings()) beginnings.push_back(warning.chain);
  const auto bugs = causes_.find(kept_, beginnings);
  for (std::size_t i = 0; i < beginnings.size(); ++i) {
    const bool is_root = i < num_roots;
    const std::string words = bug_cause_words(likely_bugs(
        bugs[i], {.finding = beginnings[i].finding,
                  .num_prompt_tokens = is_root ? findings.root_words()[i].num_prompt_tokens : 0,
                  .profile = profile_of(kept_),
                  .runner = trace_.trace_judge().config().runner}));
    is_root ? findings.set_cause(i, {.cause = words})
            : findings.set_warning_cause(i - num_roots, {.cause = words});
  }
  if (note_ && !causes_.why_not_searched().empty())
    note_("which known bug the findings come from is not known: " + causes_.why_not_searched());
}

void JudgeSession::note_uncompared_hits() {
  const std::vector<UncomparedHit>& hits = comparison_->uncompared_hits();
  if (hits.empty()) return;
  TraceReport& trace = report_.traces.back();
  trace.num_uncompared_hits = std::ssize(hits);
  const UncomparedHit& first = hits.front();
  trace.uncompared_hit =
      fmt::format("step {}, request {}: ours {} tokens, trace {}", first.step,
                  trace_.reader().name_of(first.request), first.ours, first.traced);
}

void JudgeSession::finish(SessionStatus status, const std::string& reason) {
  if (!trace_.has_begun()) return;
  if (Status ended = files_.finish({.status = status, .reason = reason}); !ended.ok())
    file_failure_ = ended.error();
  count_steps();
  // A signal is how --follow ends.
  const bool ended = status == SessionStatus::complete ||
                     (status == SessionStatus::interrupted && options_.follow);
  if (ended && options_.finds_causes) find_causes();
  trace_.end();
  if (comparison_) {
    report_.traces.back().first_difference = comparison_->first_difference();
    note_uncompared_hits();
  }
  comparison_.reset();
}

// Empty: the end, or nobody wants more.
Result<std::optional<TraceLines::Line>> JudgedLines::next_line() {
  auto line = source_.next();
  if (!go_on_()) return std::optional<TraceLines::Line>();
  if (!line.ok() || line.value() || source_.ended_early().empty()) return line;
  return invalid_input(fmt::format("{}: the stream ended early after step {}, {}",
                                   session_.report().input, session_.last_step(),
                                   source_.ended_early()));
}

// A reference vector becomes several lines of a trace, which all count as its one line.
Status JudgedLines::convert(const std::string& vector, std::int64_t line) {
  if (vector.empty()) return Ok{};
  auto lines = pipeline_trace(vector, session_.report().input, line);
  if (!lines.ok()) return lines.error();
  const std::string name = nlohmann::json::parse(lines.value().front())["name"];
  if (name.find(options_.filter) == std::string::npos) return Ok{};
  for (std::string& converted : lines.value())
    if (options_.converted)
      options_.converted(converted);
    else
      converted_.push_back(std::move(converted));
  return Ok{};
}

// The step of the next line; empty: that is none, or has_ended_.
Result<std::optional<CheckedStep>> JudgedLines::judge_line() {
  if (!converted_.empty()) {
    const std::string text = std::move(converted_.front());
    converted_.pop_front();
    return session_.judge(text, source_.line_number());
  }
  const auto line = next_line();
  if (!line.ok()) return line.error();
  has_ended_ = !line.value();
  if (has_ended_) return std::optional<CheckedStep>();
  const auto& [text, number] = *line.value();
  if (!options_.from_pipeline) return session_.judge(text, number);
  if (const Status done = convert(std::string(text.text), number); !done.ok()) return done.error();
  return std::optional<CheckedStep>();
}

Result<std::optional<CheckedStep>> JudgedLines::next() {
  for (;;) {
    auto step = judge_line();
    session_.report().bytes = source_.bytes_taken();
    if (!step.ok() || step.value() || has_ended_) return step;
  }
}

Status judge_lines(const JudgeOptions& options, TraceLines& source, JudgeSession& session,
                   const std::function<bool()>& go_on) {
  JudgedLines steps(options, source, session, go_on);
  const Driven driven = session.note_failure(drive(steps, session.sinks()));
  if (!driven.ok()) return driven.error();
  return Ok{};
}

}  // namespace hybridscope
