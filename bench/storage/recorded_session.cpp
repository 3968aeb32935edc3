#include "bench/storage/recorded_session.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/checked_run.h"
#include "sessions/traffic/traffic_load.h"
#include "storage/session_writer.h"

namespace hybridscope::bench {
namespace {

RunPlan long_run() {
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  settings.max_num_seqs = 32;
  settings.num_gpu_blocks_override = 32768;
  return plan_traffic(
             make_synthetic_traffic({.num_conversations = 8000, .mean_gap_us = 250'000}).value(),
             {.name = "bench", .model = "tiny-gdn", .settings = settings})
      .value();
}

void record(const SessionPlace& place, RecordLevel level, std::int64_t num_steps) {
  CheckedRun run = CheckedRun::create(long_run(), {.max_steps = num_steps}).value();
  if (level == RecordLevel::full) run.log_writes();
  const EngineConfig& config = run.engine().config();
  const auto name = [&](RequestId id) { return run.engine().name_of(id); };
  SessionHeader header;
  header.level = level;
  header.source = "bench";
  header.model = "tiny-gdn";
  header.engine = "safe";
  header.plan = write_session_plan(run.plan());
  header.config = config;
  auto begun = SessionWriter::begin(
      place, header, {.program = "hybridscope_bench", .request_name = name, .finding_text = {}});
  const auto writer = std::move(begun).value();
  StepRecorder recorder(config, level, name);
  while (!run.has_ended()) {
    const CheckedStep step = run.step().value();
    recorder.record(step.trace, step.findings, step.writes, writer->next_record());
    HS_EXPECT(writer->push().ok());
  }
  HS_EXPECT(writer->finish(SessionStatus::stopped, "").ok());
}

class TemporarySession {
 public:
  TemporarySession(RecordLevel level, std::int64_t num_steps) {
    std::string folder = (std::filesystem::temp_directory_path() / "hybridscope_XXXXXX").string();
    HS_EXPECT(mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    place_ = {.file = folder + "/bench.db", .name = "bench"};
    record(place_, level, num_steps);
    std::fprintf(stderr, "recorded %lld steps, %.0f MB\n", static_cast<long long>(num_steps),
                 static_cast<double>(std::filesystem::file_size(place_.file)) / 1e6);
  }
  ~TemporarySession() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporarySession(const TemporarySession&) = delete;
  TemporarySession& operator=(const TemporarySession&) = delete;
  const SessionPlace& place() const { return place_; }

 private:
  std::filesystem::path folder_;
  SessionPlace place_;
};

}  // namespace

const SessionPlace& recorded_session(RecordLevel level, std::int64_t num_steps) {
  static std::map<std::pair<RecordLevel, std::int64_t>, std::unique_ptr<TemporarySession>> sessions;
  auto& session = sessions[{level, num_steps}];
  if (session == nullptr) session = std::make_unique<TemporarySession>(level, num_steps);
  return session->place();
}

}  // namespace hybridscope::bench
