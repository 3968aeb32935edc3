#include "tests/sessions/judge/judged_run.h"

#include <fmt/core.h>

#include <utility>

#include "sessions/explain/finding_words.h"
#include "sessions/explain/root_decision.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test {

std::vector<nlohmann::json> trace_of(const std::string& name,
                                     const std::function<void(EngineConfig&)>& change) {
  const std::string file = fmt::format("{}/scenarios/{}.json", HYBRIDSCOPE_SOURCE_DIR, name);
  const Scenario scenario = read_scenario_file(file).value();
  RunPlan plan = plan_scenario(scenario, file).value();
  if (change) change(plan.setup.config);
  Runner runner = Runner::create(std::move(plan)).value();
  const Engine& engine = runner.engine();
  TraceWriter writer(engine.config(), traced_requests_of(engine));
  std::vector<nlohmann::json> lines = {nlohmann::json::parse(writer.header(name))};
  while (!runner.done())
    lines.push_back(nlohmann::json::parse(writer.step(*runner.step().value())));
  return lines;
}

void strip(std::vector<nlohmann::json>& lines, bool keeps_copies) {
  const bool keeps_hashes = lines[0]["config"].contains("hits_inside_blocks");
  for (nlohmann::json& line : lines) {
    for (const char* optional :
         {"preprocess_copies", "cudagraph", "attn_metadata", "num_drafts_offered"})
      line.erase(optional);
    if (!keeps_copies) line.erase("postprocess_copies");
    if (!keeps_hashes)
      for (const char* hashes : {"block_hashes", "block_hashes_after_output"}) line.erase(hashes);
    if (!line.contains("input_batch")) continue;
    for (const char* optional : {"num_accepted_tokens", "num_accepted_tokens_after_preprocess",
                                 "num_computed_tokens", "idx_mapping"})
      line["input_batch"].erase(optional);
  }
}

Judgement judge(const std::vector<std::string>& lines) {
  Judgement judgement;
  judgement.computed.resize(kNumComputed);
  JudgedTrace trace("t.jsonl", CheckScope::all);
  RootTracker roots(true);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto taken = trace.take(std::string_view(lines[i]), static_cast<std::int64_t>(i) + 1);
    if (!taken.ok()) {
      judgement.error = taken.error().message;
      return judgement;
    }
    if (!taken.value().step) continue;
    const StepTrace& step = taken.value().step->trace;
    for (const Finding& finding : taken.value().step->findings) {
      if (rule_info(finding.rule).severity == Severity::error &&
          roots.add(finding) == judgement.decisions.size())
        judgement.decisions.push_back(roots.decision(step, finding, trace.names()));
      judgement.has_errors =
          judgement.has_errors || rule_info(finding.rule).severity == Severity::error;
      judgement.findings.push_back(fmt::format(
          "{} step {} {}: expected {}, seen {}", rule_info(finding.rule).slug, finding.step,
          finding.request.value < 0 ? "-" : trace.names().request(finding.request),
          finding.expected, finding.seen));
      judgement.words.push_back(finding_words::what(finding, trace.names()));
    }
    roots.end_step(step);
    judgement.untold = trace.trace_judge().untold().words();
    for (std::size_t c = 0; c < kNumComputed; ++c)
      judgement.computed[c] = trace.trace_judge().num_computed(static_cast<Computed>(c));
  }
  return judgement;
}

Judgement judge(const std::vector<nlohmann::json>& lines) {
  std::vector<std::string> texts;
  for (const nlohmann::json& line : with_all_told(lines)) texts.push_back(line.dump());
  return judge(texts);
}

std::string Judgement::verdict() const {
  if (!error.empty()) return "bad input";
  if (has_errors) return "findings";
  return untold.empty() ? "no findings" : "not judged";
}

std::vector<nlohmann::json> with_all_told(std::vector<nlohmann::json> lines) {
  for (nlohmann::json& line : lines) {
    if (line.contains("config")) {
      line["config"].emplace("async_scheduling", false);
      line["config"].emplace("runner", "v1");
    }
    if (!line.contains("scheduler_output")) continue;
    nlohmann::json& output = line["scheduler_output"];
    output.emplace("finished_req_ids", nlohmann::json::array());
    output.emplace("preempted_req_ids", nlohmann::json::array());
    output.emplace("scheduled_spec_decode_tokens", nlohmann::json::object());
    if (output.contains("scheduled_cached_reqs"))
      output["scheduled_cached_reqs"].emplace("resumed_req_ids", nlohmann::json::array());
  }
  return lines;
}

}  // namespace hybridscope::test
