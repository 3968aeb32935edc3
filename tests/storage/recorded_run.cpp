#include "tests/storage/recorded_run.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "sessions/explain/explain_finding.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/traffic/traffic_load.h"
#include "storage/step_history.h"

namespace hybridscope::test {

std::vector<std::string> shipped_scenario_names() {
  std::vector<std::string> names;
  const std::filesystem::path folder = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

RunPlan shipped_scenario(const std::string& name) {
  const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json";
  return plan_scenario(read_scenario_file(file).value(), file).value();
}

RunPlan synthetic_run(std::int64_t num_requests) {
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  settings.num_gpu_blocks_override = 4096;
  return plan_traffic(make_synthetic_traffic(SyntheticTrafficOptions{}).value(),
                      {.name = "synthetic traffic",
                       .model = "tiny-gdn",
                       .settings = settings,
                       .limit = num_requests})
      .value();
}

SessionHeader header_of(const RunPlan& plan, RecordLevel level) {
  SessionHeader header;
  header.level = level;
  header.source = plan.name;
  header.model = plan.setup.layout.model.name;
  header.engine = "safe";
  header.plan = write_session_plan(plan);
  header.config = plan.setup.config;
  return header;
}

Status record_run(const RunPlan& plan, const Recording& recording) {
  CheckedRunOptions options;
  if (recording.max_steps > 0) options.max_steps = recording.max_steps;
  CheckedRun run = CheckedRun::create(plan, std::move(options)).value();
  if (recording.level == RecordLevel::full) run.log_writes();
  const Names names = make_names(run.engine());
  auto writer = SessionWriter::begin(
      recording.place, header_of(plan, recording.level),
      {.program = "hybridscope test",
       .request_name = names.request,
       .finding_text = [&](const Finding& finding) { return explain_finding(finding, names); },
       .busy_timeout_ms = recording.busy_timeout_ms,
       .batch_steps = recording.batch_steps});
  if (!writer.ok()) return writer.error();
  StepRecorder recorder(run.engine().config(), recording.level, names.request);
  while (!run.has_ended()) {
    const CheckedStep step = run.step().value();
    StepRecord& record = writer.value()->next_record();
    recorder.record(step.trace, step.findings, step.writes, record);
    if (recording.watch) recording.watch(record, run.state());
    if (Status pushed = writer.value()->push(); !pushed.ok()) {
      if (recording.finishes) return writer.value()->finish(SessionStatus::failed, "");
      return pushed;
    }
  }
  if (!recording.finishes) return Ok{};
  return writer.value()->finish(
      run.end() == EndReason::finished ? SessionStatus::complete : SessionStatus::stopped,
      run.end() == EndReason::no_progress ? "it cannot progress" : "");
}

bool step_forward(SessionPlayer& player) {
  const std::int64_t next = player.reader().step_after(player.step()).value();
  return next > 0 && player.go_to(next).ok();
}

StateWrite last_write(SessionReader& reader, std::int32_t block, ContentKind content,
                      std::int64_t step) {
  WriteHistory history(reader.impl().context);
  const auto chain = history.chain(
      block, content, step, [](const StateWrite&) { return std::optional<std::int32_t>(); }, 1);
  EXPECT_FALSE(reader.impl().context.error.has_value());
  return chain.empty() ? StateWrite() : chain.front();
}

void while_locked(const std::string& file, const std::function<void()>& work) {
  SQLite::Database other(file, SQLite::OPEN_READWRITE);
  const SQLite::Transaction transaction(other, SQLite::TransactionBehavior::IMMEDIATE);
  work();
}

std::vector<std::string> query(const std::string& file, const std::string& sql) {
  SQLite::Database database(file, SQLite::OPEN_READONLY);
  SQLite::Statement statement(database, sql);
  std::vector<std::string> answers;
  while (statement.executeStep()) {
    const auto column = statement.getColumn(0);
    answers.push_back(column.isNull() ? "NULL" : column.getString());
  }
  return answers;
}

std::int64_t query_number(const std::string& file, const std::string& sql) {
  return SQLite::Database(file, SQLite::OPEN_READONLY).execAndGet(sql).getInt64();
}

void execute(const std::string& file, const std::string& sql) {
  constexpr int kWaitMs = 10000;  // for a recording that holds the file
  SQLite::Database(file, SQLite::OPEN_READWRITE, kWaitMs).exec("PRAGMA foreign_keys = OFF; " + sql);
}

}  // namespace hybridscope::test
