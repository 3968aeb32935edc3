#include "tests/storage/exported_run.h"

#include "sessions/record/live_source.h"
#include "sessions/record/session_plan.h"
#include "sessions/scenario/scenario_reader.h"
#include "storage/record_jsonl.h"
#include "tests/storage/record_lines.h"

namespace hybridscope::test {

ExportedRun export_run(const std::string& file, RecordLevel level) {
  const std::string path = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + file;
  const RunPlan plan = plan_scenario(read_scenario_file(path).value(), file).value();
  ExportedRun run;
  run.header = {.name = "exported",
                .kind = SessionKind::run,
                .level = level,
                .source = file,
                .model = plan.setup.layout.model.name,
                .engine = "safe",
                .plan = write_session_plan(plan),
                .config = plan.setup.config,
                .parent_name = "parent",
                .parent = 0,
                .forked_at = 3};
  const auto source = LiveSource::create(plan, level, file).value();
  RecordJsonlWriter writer([&source](RequestId id) { return source->request_name(id); });
  run.lines.push_back(writer.header(run.header));
  while (source->next().value() != nullptr) {
    const StepRecord& record = *source->record().value();
    run.records.push_back(lines_of(record));
    run.lines.push_back(writer.step(record));
  }
  run.lines.push_back(writer.end({.status = SessionStatus::stopped,
                                  .reason = "asked to",
                                  .note = "line 1\nline 2",
                                  .bookmarks = {{2, "here"}},
                                  .num_steps = static_cast<std::int64_t>(run.records.size())}));
  return run;
}

std::vector<std::vector<std::string>> read_lines(const std::vector<std::string>& lines,
                                                 std::string& error) {
  std::vector<std::vector<std::string>> records;
  RecordJsonlReader reader("in.jsonl");
  const auto header = reader.read_header(lines.at(0), 1);
  if (!header.ok()) {
    error = header.error().message;
    return records;
  }
  StepRecord record;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto step = reader.read_step(lines[i], static_cast<std::int64_t>(i + 1), record);
    if (!step.ok()) {
      error = step.error().message;
      return records;
    }
    if (step.value()) records.push_back(lines_of(record));
  }
  return records;
}

}  // namespace hybridscope::test
