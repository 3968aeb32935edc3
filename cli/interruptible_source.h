// A step source that Ctrl-C, SIGTERM and SIGHUP end.
#pragma once

#include <memory>
#include <utility>

#include "core/base/result.h"
#include "sessions/record/forwarded_source.h"

namespace hybridscope {

class InterruptibleSource final : public ForwardedSource {
 public:
  explicit InterruptibleSource(std::unique_ptr<StepSource> source)
      : ForwardedSource(std::move(source)) {}

  // Error not_available: the command was interrupted (ask_for_interrupts).
  Result<const StepStamp*> next() override;
};

}  // namespace hybridscope
