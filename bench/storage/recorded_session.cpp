#include "bench/storage/recorded_session.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/check.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/checked_run.h"
#include "sessions/traffic/synthetic_traffic.h"
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

void record(const SessionPlace& place) {
  CheckedRun run = CheckedRun::create(long_run(), {.max_steps = kRecordedSteps}).value();
  const EngineConfig& config = run.engine().config();
  const auto name = [&](RequestId id) { return run.engine().name_of(id); };
  SessionHeader header;
  header.source = "bench";
  header.model = "tiny-gdn";
  header.engine = "safe";
  header.plan = write_session_plan(run.plan());
  header.config = config;
  auto begun = SessionWriter::begin(
      place, header, {.program = "hybridscope_bench", .request_name = name, .finding_text = {}});
  const auto writer = std::move(begun).value();
  StepRecorder recorder(config, RecordLevel::blocks, name);
  while (!run.has_ended()) {
    const CheckedStep step = run.step().value();
    recorder.record(step.trace, step.findings, {}, writer->next_record());
    HS_EXPECT(writer->push().ok());
  }
  HS_EXPECT(writer->finish(SessionStatus::stopped, "").ok());
}

class TemporarySession {
 public:
  TemporarySession() {
    std::string folder = (std::filesystem::temp_directory_path() / "hybridscope_XXXXXX").string();
    HS_EXPECT(mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    place_ = {.file = folder + "/bench.db", .name = "bench"};
    record(place_);
    std::fprintf(stderr, "recorded %lld steps, %.0f MB\n", static_cast<long long>(kRecordedSteps),
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

const SessionPlace& recorded_session() {
  static const TemporarySession session;
  return session.place();
}

}  // namespace hybridscope::bench
