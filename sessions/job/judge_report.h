// The result of judging, as text and JSON.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/foreign_importer.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

// One trace of the input.
struct TraceReport {
  std::string name;       // may be empty
  std::string engine;     // may be empty
  std::int64_t line = 0;  // of its header
  std::int64_t steps = 0;
  std::int64_t request_steps = 0;
  std::int64_t memory_steps = 0;                      // that told hashes of the engine's memory
  std::array<std::int64_t, kNumComputed> computed{};  // steps in which we computed it
  std::string untold;                                 // UntoldParts::words
  FindingList findings;
  std::vector<std::int64_t> finding_lines;           // [findings.kept()] of the input
  std::optional<EngineDifference> first_difference;  // from our engine, with --engine
  // With --engine: requests whose hit cannot be compared, and the first of them in words.
  std::int64_t num_uncompared_hits = 0;
  std::string uncompared_hit;

  // Nothing wrong was found, and that something is wrong is not ruled out.
  bool is_not_judged() const;
};

struct JudgeReport {
  std::string input;
  std::string engine;                  // profile that traces were compared with; empty: none
  std::optional<SpeechInfo> language;  // that ran on the decisions, without layers; empty: none
  std::vector<TraceReport> traces;
  std::string stopped;       // why judging ended early, empty: all was judged
  bool interrupted = false;  // it was a signal
  std::int64_t bytes = 0;
  std::optional<double> wall_seconds;  // absent: --no-timings

  std::int64_t num_found(Severity severity) const;
  std::int64_t num_differing() const;   // traces with a first difference
  std::int64_t num_not_judged() const;  // traces
  // Over all traces.
  std::int64_t sum(std::int64_t TraceReport::*count) const;
};

// A heading, the findings of one trace, unless they were printed before, and its first difference
// from our engine under `profile`.
std::string format_trace(const TraceReport& trace, std::string_view profile,
                         bool with_findings = true);

// The last lines of the default output.
std::string format_judge_summary(const JudgeReport& report);

// One element of traces[]; with `first_difference` only where it was looked for.
nlohmann::ordered_json trace_report_to_json(const TraceReport& trace, bool compared);

// {config, summary, traces[]}.
nlohmann::ordered_json judge_report_to_json(const JudgeReport& report);

}  // namespace hybridscope
