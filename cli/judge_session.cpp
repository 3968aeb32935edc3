#include "cli/judge_session.h"

#include <fmt/format.h>

#include <utility>

#include "core/engine/cudagraph_setup.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/explain/explain_step.h"

namespace hybridscope {
namespace {

// What start-up makes of the graphs that the header tells.
void print_corrections(const EngineConfig& config) {
  const auto cudagraphs = resolve_cudagraphs(config);
  if (!cudagraphs.ok()) return;
  for (const CudagraphCorrection& correction : cudagraphs.value().corrections)
    fmt::print(stderr, "note: {}\n", correction_words(correction));
}

std::string display_name(const std::string& input) { return input == "-" ? "<stdin>" : input; }

}  // namespace

JudgeSession::JudgeSession(const JudgeOptions& options)
    : options_(options), reader_(options.input), names_(numbered_names()) {
  report_.input = display_name(options.input);
  report_.engine = options.engine;
}

Status JudgeSession::take(PaddedLine text, std::int64_t line) {
  return judge(reader_.read_line(text, line), text.text, line);
}

Status JudgeSession::take(const std::string& text, std::int64_t line) {
  return judge(reader_.read_line(std::string_view(text), line), text, line);
}

Status JudgeSession::judge(const Result<TraceLine>& kind, std::string_view text,
                           std::int64_t line) {
  if (!kind.ok()) return kind.error();
  if (kind.value() == TraceLine::header) return begin(text, line);
  if (kind.value() == TraceLine::step && !skips_trace_) return judge_step(line);
  return Ok{};
}

Status JudgeSession::begin(std::string_view text, std::int64_t line) {
  finish(SessionStatus::complete, "");
  if (record_failure_) return *record_failure_;
  const ForeignHeader& header = reader_.header();
  skips_trace_ = header.name.find(options_.filter) == std::string::npos;
  if (skips_trace_) return Ok{};
  auto judge = TraceJudge::create(header);
  if (!judge.ok()) return at_line(judge.error(), line);
  if (Status begun = begin_comparison(); !begun.ok()) return at_line(begun.error(), line);
  judge_.emplace(std::move(judge).value());
  print_corrections(header.config);
  names_ = make_names(header.config, [this](RequestId id) { return reader_.name_of(id); });
  TraceReport& trace = report_.traces.emplace_back();
  trace.name = header.name;
  trace.engine = header.engine;
  trace.line = line;
  return begin_recording(text);
}

// The second trace of an input cannot have the first one's name.
Status JudgeSession::begin_recording(std::string_view header_line) {
  if (options_.record.place.empty()) return Ok{};
  const ForeignHeader& foreign = reader_.header();
  SessionPlace place = parse_session_place(options_.record.place);
  if (!place.name.empty() && report_.traces.size() > 1)
    place.name += fmt::format("-{}", report_.traces.size());
  SessionHeader header;
  header.kind = SessionKind::judge;
  header.source = foreign.name.empty() ? report_.input : foreign.name;
  header.engine = foreign.engine;
  header.plan = header_line;
  header.config = foreign.config;
  header.check = options_.check;
  auto begun = RecordedSession::begin(options_.record, place, std::move(header), names_);
  if (!begun.ok()) {
    record_failure_ = begun.error();
    return begun.error();
  }
  recorded_ = std::move(begun).value();
  if (recorded_->level() == RecordLevel::full) judge_->log_writes();
  return Ok{};
}

Error JudgeSession::at_line(const Error& error, std::int64_t line) const {
  return {error.kind, fmt::format("{}:{}: {}", report_.input, line, error.message)};
}

Status JudgeSession::begin_comparison() {
  if (options_.engine.empty()) return Ok{};
  EngineSettings engine;
  engine.engine = parse_engine_profile(options_.engine);
  engine.runner = reader_.header().config.runner;
  const Policies policies = resolve_policies(engine);
  auto comparison = EngineComparison::create(reader_.header(), policies,
                                             [this](RequestId id) { return reader_.name_of(id); });
  if (!comparison.ok()) return comparison.error();
  comparison_.emplace(std::move(comparison).value());
  return Ok{};
}

Status JudgeSession::judge_step(std::int64_t line) {
  const auto judged = judge_->judge(reader_.step(), options_.check);
  if (!judged.ok()) return at_line(judged.error(), line);
  if (comparison_) comparison_->compare(reader_.step());
  TraceReport& trace = report_.traces.back();
  for (const Finding& finding : judged.value().findings) trace.findings.add(finding, false, names_);
  trace.finding_lines.resize(trace.findings.kept().size(), line);
  if (judged.value().trace.step == options_.explain) explain(judged.value());
  if (!recorded_) return Ok{};
  const JudgedStep& step = judged.value();
  Status added = recorded_->add(step.trace, step.findings, step.writes);
  if (!added.ok()) record_failure_ = added.error();
  return added;
}

void JudgeSession::explain(const JudgedStep& step) {
  explained_ = true;
  fmt::print(text_stream(options_), "{}",
             explain_step({.trace = step.trace,
                           .config = judge_->config(),
                           .names = names_,
                           .scheduler_tables = step.scheduler_tables,
                           .findings = step.findings}));
}

void JudgeSession::finish(SessionStatus status, const std::string& reason) {
  if (!judge_) return;
  if (recorded_)
    if (Status ended = recorded_->finish(status, reason); !ended.ok())
      record_failure_ = ended.error();
  recorded_.reset();
  TraceReport& trace = report_.traces.back();
  trace.steps = judge_->num_steps();
  trace.request_steps = judge_->num_request_steps();
  for (std::size_t i = 0; i < kNumComputed; ++i)
    trace.computed[i] = judge_->num_computed(static_cast<Computed>(i));
  judge_.reset();
  if (comparison_) trace.first_difference = comparison_->first_difference();
  comparison_.reset();
}

}  // namespace hybridscope
