#include "cli/judge_session.h"

#include <fmt/format.h>

#include <utility>

#include "core/engine/cudagraph_setup.h"
#include "sessions/explain_start_up.h"
#include "sessions/explain_step.h"

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
  return judge(reader_.read_line(text, line), line);
}

Status JudgeSession::take(const std::string& text, std::int64_t line) {
  return judge(reader_.read_line(std::string_view(text), line), line);
}

Status JudgeSession::judge(const Result<TraceLine>& kind, std::int64_t line) {
  if (!kind.ok()) return kind.error();
  if (kind.value() == TraceLine::header) return begin(line);
  if (kind.value() == TraceLine::step && !skips_trace_) return judge_step(line);
  return Ok{};
}

Status JudgeSession::begin(std::int64_t line) {
  finish();
  const ForeignHeader& header = reader_.header();
  skips_trace_ = header.name.find(options_.filter) == std::string::npos;
  if (skips_trace_) return Ok{};
  auto judge = TraceJudge::create(header);
  if (!judge.ok()) return at_line(judge.error(), line);
  if (Status begun = begin_comparison(); !begun.ok()) return at_line(begun.error(), line);
  judge_.emplace(std::move(judge).value());
  print_corrections(header.config);
  names_ = make_names(header.config.kv_cache_config,
                      [this](RequestId id) { return reader_.name_of(id); });
  names_.mamba_cache_mode = header.config.mamba_cache_mode;
  TraceReport& trace = report_.traces.emplace_back();
  trace.name = header.name;
  trace.engine = header.engine;
  trace.line = line;
  return Ok{};
}

Error JudgeSession::at_line(const Error& error, std::int64_t line) const {
  return {error.kind, fmt::format("{}:{}: {}", report_.input, line, error.message)};
}

Status JudgeSession::begin_comparison() {
  if (options_.engine.empty()) return Ok{};
  const Policies policies = options_.engine == "pages" ? pages_policies() : safe_policies();
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
  return Ok{};
}

void JudgeSession::explain(const JudgedStep& step) {
  explained_ = true;
  fmt::print("{}", explain_step({.trace = step.trace,
                                 .config = judge_->config(),
                                 .names = names_,
                                 .scheduler_tables = step.scheduler_tables,
                                 .findings = step.findings}));
}

void JudgeSession::finish() {
  if (!judge_) return;
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
