// A recording for tests: stamps in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sessions/record/step_source.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::test {

class StampList final : public StepSource {
 public:
  explicit StampList(const std::vector<DigestedStep>& steps,
                     std::int32_t digest_version = kDigestVersion);

  std::string title() const override { return "run.db:before"; }
  const EngineConfig& config() const override { return config_; }
  RecordLevel level() const override { return RecordLevel::counts; }
  std::int32_t digest_version() const override { return digest_version_; }
  std::string request_name(RequestId) const override { return {}; }
  Result<const StepStamp*> next() override;
  Result<const StepRecord*> record() override;

 private:
  EngineConfig config_;
  std::vector<StepStamp> stamps_;
  std::int32_t digest_version_;
  std::size_t next_ = 0;
};

}  // namespace hybridscope::test
