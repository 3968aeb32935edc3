#include "integrations/python/src/judge_file.h"

#include <fmt/core.h>
#include <pybind11/pybind11.h>

#include <nlohmann/json.hpp>

#include "sessions/job/judge_session.h"

namespace hybridscope {
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
