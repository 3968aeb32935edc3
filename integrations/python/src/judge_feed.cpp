#include "integrations/python/src/judge_feed.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/explain/explain_finding.h"

namespace hybridscope {
namespace {

nlohmann::ordered_json with_line(nlohmann::ordered_json finding, std::int64_t line) {
  finding["line"] = line;
  return finding;
}

}  // namespace

JudgeFeed::JudgeFeed(JudgeOptions options)
    : options_(std::move(options)),
      session_(options_, [this](const std::string& words) { notes_.push_back(words); }) {
  session_.add(*this);
}

Result<std::vector<nlohmann::ordered_json>> JudgeFeed::feed(std::string_view line) {
  step_.reset();
  found_.clear();
  ++line_;
  if (const auto taken = session_.take(line, line_); !taken.ok()) return taken.error();
  return std::move(found_);
}

Result<Going> JudgeFeed::take(const CheckedStep& step) {
  step_.emplace(step);
  for (const Finding& finding : step.findings)
    found_.push_back(with_line(finding_to_json(finding, session_.names()), line_));
  return Going::on;
}

const TraceReport& JudgeFeed::trace() {
  const JudgeReport& report = session_.report();
  return report.traces.empty() ? no_trace_ : report.traces.back();
}

std::vector<nlohmann::ordered_json> JudgeFeed::findings() {
  std::vector<nlohmann::ordered_json> all;
  const TraceReport& of = trace();
  for (std::size_t i = 0; i < of.findings.kept().size(); ++i)
    all.push_back(with_line(*of.findings.kept()[i].json, of.finding_lines[i]));
  return all;
}

nlohmann::ordered_json JudgeFeed::report() {
  return trace_report_to_json(trace(), !options_.engine.empty());
}

Result<std::string> JudgeFeed::explain() const {
  if (!step_)
    return Error{ErrorKind::not_found, "the last line was no step of a trace that is judged"};
  return session_.explain(*step_);
}

}  // namespace hybridscope
