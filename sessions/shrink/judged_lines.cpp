#include "sessions/shrink/judged_lines.h"

#include <utility>

#include "sessions/explain/explain_finding.h"

namespace hybridscope {

LineJudge::LineJudge(std::string file, CheckScope scope) : trace_(std::move(file), scope) {}

Result<TraceLine> LineJudge::take(const std::string& text, std::int64_t line) {
  return judge(trace_.read(std::string_view(text), line));
}

Result<TraceLine> LineJudge::take(PaddedLine text, std::int64_t line) {
  return judge(trace_.read(text, line));
}

ToldFinding LineJudge::told(const Finding& finding) const {
  const auto name = [&](RequestId request) {
    return request.value < 0 ? std::string() : trace_.names().request(request);
  };
  const WriteEvent& cause = finding.cause;
  const bool has_cause = cause.kind != WriteKind::never;
  return {.rule = finding.rule,
          .step = finding.step,
          .request = name(finding.request),
          .numbers = {finding.group, static_cast<std::int64_t>(finding.content), finding.column,
                      finding.block, finding.expected, finding.seen,
                      static_cast<std::int64_t>(cause.kind), has_cause ? cause.step : 0,
                      has_cause ? cause.num_tokens : 0},
          .detail = std::string(finding.detail),
          .cause_request = has_cause ? name(cause.request) : std::string()};
}

Result<TraceLine> LineJudge::judge(Result<TraceLine> kind) {
  found_.clear();
  if (!kind.ok() || kind.value() == TraceLine::empty) return kind;
  if (kind.value() == TraceLine::header) {
    if (Status begun = trace_.begin(); !begun.ok()) return begun.error();
    return kind;
  }
  const auto judged = trace_.judge();
  if (!judged.ok()) return judged.error();
  for (const Finding& finding : judged.value().findings)
    found_.push_back({.told = told(finding), .text = explain_finding(finding, trace_.names())});
  return kind;
}

}  // namespace hybridscope
