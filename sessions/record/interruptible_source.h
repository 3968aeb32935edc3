// A step source that can be ended from outside.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/base/result.h"
#include "sessions/record/forwarded_source.h"

namespace hybridscope {

class InterruptibleSource final : public ForwardedSource {
 public:
  // `interrupted` is asked before each step.
  InterruptibleSource(std::unique_ptr<StepSource> source, std::function<bool()> interrupted)
      : ForwardedSource(std::move(source)), interrupted_(std::move(interrupted)) {}

  // Error not_available: it was interrupted.
  Result<const StepStamp*> next() override;

 private:
  std::function<bool()> interrupted_;
};

}  // namespace hybridscope
