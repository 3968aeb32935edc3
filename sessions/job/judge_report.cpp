#include "sessions/job/judge_report.h"

#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hybridscope {
namespace {

using ComputedSteps = std::array<std::int64_t, kNumComputed>;

ComputedSteps computed_steps(const JudgeReport& report) {
  ComputedSteps sum{};
  for (const TraceReport& trace : report.traces)
    for (std::size_t i = 0; i < kNumComputed; ++i) sum[i] += trace.computed[i];
  return sum;
}

nlohmann::ordered_json computed_json(const ComputedSteps& computed) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kNumComputed; ++i)
    json[std::string(computed_name(static_cast<Computed>(i)))] = computed[i];
  return json;
}

// A line for each trace that does not tell all that a verdict needs.
std::string untold_lines(const JudgeReport& report) {
  std::string text;
  for (const TraceReport& trace : report.traces) {
    if (trace.untold.empty()) continue;
    const std::string name = report.traces.size() == 1 ? std::string()
                             : trace.name.empty()      ? fmt::format("line {}: ", trace.line)
                                                       : trace.name + ": ";
    text +=
        fmt::format("{}{}{}\n", name,
                    trace.is_not_judged() ? "not judged: " : "there may be more: ", trace.untold);
  }
  return text;
}

std::string uncompared_hit_lines(const JudgeReport& report) {
  std::string text;
  for (const TraceReport& trace : report.traces)
    if (trace.num_uncompared_hits > 0)
      text += fmt::format(
          "hits of {} cannot be compared, and the trace's are taken: equal tokens, and a shorter "
          "hit than ours or other blocks; the cache's key may have parts that the trace does not "
          "tell (LoRA, images); first {}\n",
          counted(trace.num_uncompared_hits, "request"), trace.uncompared_hit);
  return text;
}

std::string verdict(const TraceReport& trace) {
  if (trace.is_not_judged()) return "not judged";
  return trace.findings.num_found(Severity::error) > 0 ? "findings" : "no findings";
}

}  // namespace

bool TraceReport::is_not_judged() const {
  return !untold.empty() && findings.num_found(Severity::error) == 0;
}

std::int64_t JudgeReport::num_not_judged() const {
  return std::ranges::count_if(traces,
                               [](const TraceReport& trace) { return trace.is_not_judged(); });
}

std::int64_t JudgeReport::num_found(Severity severity) const {
  std::int64_t sum = 0;
  for (const TraceReport& trace : traces) sum += trace.findings.num_found(severity);
  return sum;
}

std::int64_t JudgeReport::num_differing() const {
  return std::ranges::count_if(
      traces, [](const TraceReport& trace) { return trace.first_difference.has_value(); });
}

std::int64_t JudgeReport::sum(std::int64_t TraceReport::*count) const {
  std::int64_t sum = 0;
  for (const TraceReport& trace : traces) sum += trace.*count;
  return sum;
}

std::string format_trace(const TraceReport& trace, std::string_view profile, bool with_findings) {
  std::string text = fmt::format(
      "{}: {}, {}\n", trace.name.empty() ? fmt::format("line {}", trace.line) : trace.name,
      counted(trace.steps, "step"), counted(trace.request_steps, "request-step"));
  text += indented(with_findings ? trace.findings.format_roots() : trace.findings.format_causes());
  text += trace.findings.format_left_out();
  if (const std::string damage = trace.findings.format_by_request(); !damage.empty())
    text += "by request:\n" + damage;
  if (trace.first_difference)
    text += fmt::format("  first difference from profile {}: {}\n", profile,
                        format_difference(*trace.first_difference));
  return text;
}

std::string format_judge_summary(const JudgeReport& report) {
  std::string text = fmt::format("{}: {}, {}, {}\n", report.input,
                                 counted(static_cast<std::int64_t>(report.traces.size()), "trace"),
                                 counted(report.sum(&TraceReport::steps), "step"),
                                 counted(report.sum(&TraceReport::request_steps), "request-step"));
  if (report.wall_seconds)
    text += fmt::format("{:.2f} s wall, {:.1f} MB read\n", *report.wall_seconds,
                        static_cast<double>(report.bytes) / 1e6);
  const ComputedSteps computed = computed_steps(report);
  std::string list;
  for (std::size_t i = 0; i < kNumComputed; ++i)
    if (computed[i] > 0)
      list += fmt::format("{}{} in {}", list.empty() ? "" : ", ",
                          computed_name(static_cast<Computed>(i)), counted(computed[i], "step"));
  if (!list.empty()) text += "not in the trace, computed by us: " + list + "\n";
  if (report.sum(&TraceReport::memory_steps) > 0)
    text += "memory compared, as the trace tells it: in " +
            counted(report.sum(&TraceReport::memory_steps), "step") + "\n";
  if (report.language)
    text += speech_words(*report.language) +
            ": its states and logits compared with a lone run of each request\n";
  if (!report.engine.empty())
    text +=
        fmt::format("profile {}: differences in {} of {}\n", report.engine, report.num_differing(),
                    counted(static_cast<std::int64_t>(report.traces.size()), "trace"));
  text += uncompared_hit_lines(report);
  if (!report.stopped.empty()) text += "judging is not complete: " + report.stopped + "\n";
  text += untold_lines(report);
  const std::int64_t errors = report.num_found(Severity::error);
  const std::int64_t warnings = report.num_found(Severity::warning);
  if (errors > 0)
    text += counted(errors, "finding");
  else if (report.sum(&TraceReport::steps) == 0)
    text += "nothing was judged";
  else if (const std::int64_t left_out = report.num_not_judged(); left_out > 0)
    text += left_out == std::ssize(report.traces)
                ? "no verdict"
                : fmt::format("no findings in the traces that are judged, {} of {}",
                              std::ssize(report.traces) - left_out, report.traces.size());
  else
    text += report.stopped.empty() ? "no findings: every block held what it should after every step"
                                   : "no findings so far";
  if (warnings > 0) text += "; " + counted(warnings, "warning");
  return text + "\n";
}

nlohmann::ordered_json trace_report_to_json(const TraceReport& trace, bool compared) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const KeptFinding* kept : trace.findings.shown()) findings.push_back(*kept->json);
  nlohmann::ordered_json json = {{"name", trace.name},
                                 {"engine", trace.engine},
                                 {"line", trace.line},
                                 {"steps", trace.steps},
                                 {"request_steps", trace.request_steps},
                                 {"memory_steps", trace.memory_steps},
                                 {"verdict", verdict(trace)},
                                 {"not_told", trace.untold},
                                 {"findings_by_rule", trace.findings.by_rule()},
                                 {"findings_by_request", trace.findings.by_request_json()},
                                 {"roots", trace.findings.roots_json()},
                                 {"computed_in_steps", computed_json(trace.computed)},
                                 {"findings", findings}};
  if (compared) {
    json["first_difference"] =
        trace.first_difference ? difference_to_json(*trace.first_difference) : nullptr;
    json["hits_not_compared"] = trace.num_uncompared_hits;
  }
  return json;
}

nlohmann::ordered_json judge_report_to_json(const JudgeReport& report) {
  nlohmann::ordered_json summary = {{"traces", report.traces.size()},
                                    {"steps", report.sum(&TraceReport::steps)},
                                    {"request_steps", report.sum(&TraceReport::request_steps)},
                                    {"memory_steps", report.sum(&TraceReport::memory_steps)},
                                    {"findings", report.num_found(Severity::error)},
                                    {"warnings", report.num_found(Severity::warning)},
                                    {"not_judged", report.num_not_judged()},
                                    {"computed_in_steps", computed_json(computed_steps(report))},
                                    {"complete", report.stopped.empty()}};
  const bool compared = !report.engine.empty();
  if (compared) summary["differing_traces"] = report.num_differing();
  if (report.wall_seconds) {
    summary["bytes"] = report.bytes;
    summary["wall_seconds"] = *report.wall_seconds;
  }
  nlohmann::ordered_json traces = nlohmann::ordered_json::array();
  for (const TraceReport& trace : report.traces)
    traces.push_back(trace_report_to_json(trace, compared));
  nlohmann::ordered_json config = {{"input", report.input}};
  if (compared) config["profile"] = report.engine;
  if (report.language)
    config["language_model"] = {{"weights", report.language->weights},
                                {"form", numeric_form_name(report.language->form)}};
  nlohmann::ordered_json json = {{"config", config}, {"summary", summary}, {"traces", traces}};
  if (!report.stopped.empty()) json["stopped"] = report.stopped;
  return json;
}

}  // namespace hybridscope
