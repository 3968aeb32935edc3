// A step source before another one, which it asks; for sources that look at or end its steps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "sessions/record/step_source.h"

namespace hybridscope {

class ForwardedSource : public StepSource {
 public:
  std::string title() const override { return source_->title(); }
  const EngineConfig& config() const override { return source_->config(); }
  RecordLevel level() const override { return source_->level(); }
  bool knows_own_counts() const override { return source_->knows_own_counts(); }
  std::int32_t digest_version() const override { return source_->digest_version(); }
  std::string request_name(RequestId request) const override {
    return source_->request_name(request);
  }
  Result<const StepStamp*> next() override { return source_->next(); }
  Result<const StepRecord*> record() override { return source_->record(); }

 protected:
  explicit ForwardedSource(std::unique_ptr<StepSource> source) : source_(std::move(source)) {}

 private:
  std::unique_ptr<StepSource> source_;
};

}  // namespace hybridscope
