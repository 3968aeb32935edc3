#include "tests/sessions/judge/judged_run.h"

#include <fmt/format.h>

#include <optional>

#include "sessions/judge/trace_judge.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/runner.h"
#include "sessions/scenario_reader.h"

namespace hybridscope::test {

std::vector<nlohmann::json> trace_of(const std::string& name) {
  const std::string file = fmt::format("{}/scenarios/{}.json", HYBRIDSCOPE_SOURCE_DIR, name);
  const Scenario scenario = read_scenario_file(file).value();
  Runner runner = Runner::create(plan_scenario(scenario, file).value()).value();
  const Engine& engine = runner.engine();
  TraceWriter writer(engine.config(),
                     {.name = [&](RequestId id) { return engine.name_of(id); },
                      .token = [&](RequestId id, std::int32_t p) { return engine.token(id, p); }});
  std::vector<nlohmann::json> lines = {nlohmann::json::parse(writer.header(name))};
  while (!runner.done())
    lines.push_back(nlohmann::json::parse(writer.step(*runner.step().value())));
  return lines;
}

Judgement judge(const std::vector<std::string>& lines) {
  Judgement judgement{.error = {}, .findings = {}, .computed = {}};
  judgement.computed.resize(kNumComputed);
  TraceReader reader("t.jsonl");
  std::optional<TraceJudge> judge;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto kind =
        reader.read_line(std::string_view(lines[i]), static_cast<std::int64_t>(i) + 1);
    if (!kind.ok()) {
      judgement.error = kind.error().message;
      return judgement;
    }
    if (kind.value() == TraceLine::header) {
      judge.emplace(TraceJudge::create(reader.header()).value());
      continue;
    }
    const auto judged = judge->judge(reader.step(), CheckScope::all);
    if (!judged.ok()) {
      judgement.error = judged.error().message;
      return judgement;
    }
    for (const Finding& finding : judged.value().findings)
      judgement.findings.push_back(fmt::format(
          "{} step {} {}: expected {}, seen {}", rule_info(finding.rule).slug, finding.step,
          finding.request.value < 0 ? "-" : reader.name_of(finding.request), finding.expected,
          finding.seen));
    for (std::size_t c = 0; c < kNumComputed; ++c)
      judgement.computed[c] = judge->num_computed(static_cast<Computed>(c));
  }
  return judgement;
}

Judgement judge(const std::vector<nlohmann::json>& lines) {
  std::vector<std::string> texts;
  for (const nlohmann::json& line : lines) texts.push_back(line.dump());
  return judge(texts);
}

}  // namespace hybridscope::test
