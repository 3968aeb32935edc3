#include "integrations/python/src/judge_feed.h"

#include <fmt/core.h>
#include <pybind11/pybind11.h>
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

void FedLine::feed(std::string_view text) {
  padded_.assign(text);
  padded_.append(kLinePadding, '\0');
  is_taken_ = false;
  ++number_;
  bytes_ += static_cast<std::int64_t>(text.size()) + 1;
}

Result<std::optional<TraceLines::Line>> FedLine::next() {
  if (std::exchange(is_taken_, true)) return std::optional<Line>();
  const std::string_view text(padded_.data(), padded_.size() - kLinePadding);
  return std::optional(Line{.text = {text}, .number = number_});
}

JudgeFeed::JudgeFeed(JudgeOptions options)
    : options_(std::move(options)),
      session_(options_, [this](const std::string& words) { notes_.push_back(words); }) {
  session_.add(*this);
}

Result<std::vector<nlohmann::ordered_json>> JudgeFeed::feed(std::string_view line) {
  step_.reset();
  found_.clear();
  line_.feed(line);
  const Status judged = judge_lines(options_, line_, session_, [] { return true; });
  if (!judged.ok()) return judged.error();
  return std::move(found_);
}

Result<Going> JudgeFeed::take(const CheckedStep& step) {
  step_.emplace(step);
  for (const Finding& finding : step.findings)
    found_.push_back(with_line(finding_to_json(finding, session_.names()), line()));
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

namespace {

Told lines_of(const TraceInput& source, JudgeSession& session) {
  return {.what = "lines",
          .done = source.line_number(),
          .findings = session.report().num_found(Severity::error)};
}

// An exception of the callback ends the session as interrupted.
Status judge_all(const JudgeOptions& options, TraceInput& source, JudgeSession& session,
                 Teller& teller) {
  try {
    Status judged = judge_lines(options, source, session, [&] {
      teller.tell([&] { return lines_of(source, session); });
      return true;
    });
    teller.call(lines_of(source, session));
    session.finish(judged.ok() ? SessionStatus::complete : SessionStatus::failed,
                   judged.ok() ? "" : judged.error().message);
    return judged;
  } catch (const pybind11::error_already_set&) {
    session.finish(SessionStatus::interrupted, "interrupted");
    throw;
  }
}

}  // namespace

Result<nlohmann::ordered_json> judge_file(const JudgeOptions& options, Teller& teller) {
  auto source = TraceInput::open(options.input, [] { return false; });
  if (!source.ok()) return source.error();
  JudgeSession session(options);
  if (Status judged = judge_all(options, source.value(), session, teller); !judged.ok())
    return judged.error();
  if (session.file_failure()) return *session.file_failure();
  if (session.report().traces.empty())
    return invalid_input(
        options.filter.empty()
            ? fmt::format("{}: no trace in it, expected a header line", options.input)
            : fmt::format("{}: no trace has a name that contains \"{}\"", options.input,
                          options.filter));
  return judge_report_to_json(session.report());
}

Result<std::string> explain_trace(const JudgeOptions& options, std::int64_t step, Teller& teller) {
  auto source = TraceInput::open(options.input, [] { return false; });
  if (!source.ok()) return source.error();
  std::string text;
  JudgeSession session(options);
  SinkOf explained([&](const CheckedStep& judged) {
    if (judged.trace.step != step) return Going::on;
    text = session.explain(judged);
    return Going::stop;
  });
  session.add(explained);
  const Status judged = judge_lines(options, source.value(), session, [&] {
    teller.tell([&] { return lines_of(source.value(), session); });
    return true;
  });
  if (!judged.ok()) return judged.error();
  if (text.empty())
    return Error{ErrorKind::not_found,
                 fmt::format("{}: no trace has a step {}", options.input, step)};
  return text;
}

}  // namespace hybridscope
