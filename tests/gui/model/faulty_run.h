// A run that breaks a contract, to test how the workbench handles it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/result.h"
#include "gui/model/live_run.h"

namespace hybridscope::test {

// Where it breaks a contract: in going on to a step that is not known, in reading on, in going to a
// known step, in telling the free queue.
enum class FaultIn : std::uint8_t { forward, load_more, go_to, free_queue };

class FaultyRun final : public LiveRun {
 public:
  // The same run at the same step.
  FaultyRun(const std::unique_ptr<LiveRun>& run, FaultIn place) : LiveRun(*run->plan(), Options()) {
    if (begin().ok() && go_to(run->step()).ok()) place_ = place;
  }
  bool load_more() override {
    fail_in(FaultIn::load_more);
    return LiveRun::load_more();
  }

 private:
  Status show(std::int64_t known) override {
    fail_in(FaultIn::go_to);
    return LiveRun::show(known);
  }
  Result<bool> make_next() override {
    fail_in(FaultIn::forward);
    return LiveRun::make_next();
  }
  const CheckedRun* made_here() const override {
    fail_in(FaultIn::free_queue);
    return LiveRun::made_here();
  }
  void fail_in(FaultIn place) const {
    if (place_ == place) throw ContractViolation("cells: 3 of 2");
  }

  std::optional<FaultIn> place_;
};

}  // namespace hybridscope::test
