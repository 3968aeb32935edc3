#include "sessions/judge/judged_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/metadata/graph_padding_policies.h"
#include "sessions/run/step_judge.h"

namespace hybridscope {
namespace {

// The sizes that any release of runner V2 may capture for the listed ones: a trace does not say
// which of the rules its engine has.
std::vector<std::int32_t> sizes_of_any_release(EngineConfig config) {
  std::vector<std::int32_t> sizes;
  for (const DecodeGraphs rule : {DecodeGraphs::rounded_list, DecodeGraphs::each_size_rounded}) {
    config.policies.set(rule);
    const CheckConfig with_rule = make_check_config(config);
    const std::vector<std::int32_t>& more = with_rule.limits->cudagraph_capture_sizes;
    sizes.insert(sizes.end(), more.begin(), more.end());
  }
  std::ranges::sort(sizes);
  return sizes;
}

}  // namespace

Result<TraceJudge> TraceJudge::create(const ForeignHeader& header, const LanguageModel& language) {
  auto importer = ForeignImporter::create(header);
  if (!importer.ok()) return importer.error();
  CheckConfig config = make_check_config(header.config);
  config.hits_inside_blocks = header.hits_inside_blocks;
  if (!header.tells_chunk_size) config.limits->chunk_size = 0;
  if (header.config.cudagraph_capture_sizes.empty())
    config.limits->cudagraph_capture_sizes.clear();
  else if (header.config.runner == ModelRunner::v2)
    config.limits->cudagraph_capture_sizes = sizes_of_any_release(header.config);
  auto judge = StepJudge::create(
      config, {.language = language, .has_own_engine = false, .keeps_speech = true});
  if (!judge.ok()) return judge.error();
  return TraceJudge(header, std::move(importer).value(), std::move(judge).value());
}

TraceJudge::TraceJudge(const ForeignHeader& header, ForeignImporter importer, StepJudge judge)
    : untold_(header), importer_(std::move(importer)), judge_(std::move(judge)) {}

Result<CheckedStep> TraceJudge::judge(const ForeignStep& step, CheckScope scope) {
  const auto trace = importer_.import(step);
  if (!trace.ok()) return trace.error();
  ++num_steps_;
  num_request_steps_ += static_cast<std::int64_t>(trace.value()->rows.size());
  untold_.take(step, *trace.value(), importer_);
  const TokenContentOf token_of = [this](RequestId request, std::int32_t position) {
    return importer_.token(request, position);
  };
  auto judged = judge_.judge(*trace.value(), scope, {.token_of = token_of, .states = step.states});
  if (!judged.ok()) return judged.error();
  const CheckedStep& checked = judged.value();
  return CheckedStep{
      .trace = checked.trace,
      .findings = untold_.hide_findings() ? std::span<const Finding>() : checked.findings,
      .writes = checked.writes,
      .speech = checked.speech};
}

JudgedTrace::JudgedTrace(std::string file, CheckScope scope, IsTraceWanted is_wanted,
                         LanguageModel language)
    : reader_(std::move(file)),
      scope_(scope),
      is_wanted_(std::move(is_wanted)),
      language_(std::move(language)),
      names_(numbered_names()) {}

Result<JudgedLine> JudgedTrace::take(PaddedLine text, std::int64_t line) {
  line_ = line;
  return judge_line(reader_.read_line(text, line));
}

Result<JudgedLine> JudgedTrace::take(std::string_view text, std::int64_t line) {
  line_ = line;
  return judge_line(reader_.read_line(text, line));
}

Result<JudgedLine> JudgedTrace::judge_line(const Result<TraceLine>& read) {
  if (!read.ok()) return read.error();
  JudgedLine taken{.kind = read.value(), .step = {}};
  if (taken.kind == TraceLine::header) {
    if (Status begun = begin(); !begun.ok()) return begun.error();
  } else if (taken.kind == TraceLine::step && has_begun()) {
    const auto judged = judge();
    if (!judged.ok()) return judged.error();
    taken.step.emplace(judged.value());
  }
  return taken;
}

Status JudgedTrace::begin() {
  const bool wanted = !is_wanted_ || is_wanted_(reader_.header());
  end();
  if (!wanted) return Ok{};
  auto judge = TraceJudge::create(reader_.header(), language_);
  if (!judge.ok()) return at_line(judge.error());
  judge_.emplace(std::move(judge).value());
  names_ =
      make_names(reader_.header().config, [this](RequestId id) { return reader_.name_of(id); });
  return Ok{};
}

Result<CheckedStep> JudgedTrace::judge() {
  auto judged = judge_->judge(reader_.step(), scope_);
  if (!judged.ok()) return at_line(judged.error());
  return judged;
}

Error JudgedTrace::at_line(const Error& error) const {
  return {error.kind, fmt::format("{}:{}: {}", file(), line_, error.message)};
}

}  // namespace hybridscope
