// A run that breaks a contract, to test how the workbench handles it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "gui/model/live_run.h"

namespace hybridscope::test {

// Where it breaks a contract.
enum class FaultIn : std::uint8_t { forward, load_more, go_to, free_queue };

class FaultyRun final : public ShownRun {
 public:
  FaultyRun(std::unique_ptr<LiveRun> run, FaultIn place) : run_(std::move(run)), place_(place) {}
  Result<bool> forward() override { return at(FaultIn::forward).forward(); }
  bool load_more() override { return at(FaultIn::load_more).load_more(); }
  Status go_to(std::int64_t step) override { return at(FaultIn::go_to).go_to(step); }
  std::optional<std::vector<std::int32_t>> free_queue() const override {
    return at(FaultIn::free_queue).free_queue();
  }

  std::string title() const override { return run_->title(); }
  RecordLevel level() const override { return run_->level(); }
  const RunPlan* plan() const override { return run_->plan(); }
  const Names& names() const override { return run_->names(); }
  const EngineConfig& config() const override { return run_->config(); }
  std::int32_t num_requests() const override { return run_->num_requests(); }
  std::int64_t step() const override { return run_->step(); }
  std::int64_t last_known_step() const override { return run_->last_known_step(); }
  bool is_whole() const override { return run_->is_whole(); }
  Result<bool> back() override { return run_->back(); }
  bool continue_with(const RunPlan&, std::int64_t) override { return false; }
  StepView view() const override { return run_->view(); }
  const NamedStepArrays& previous_arrays() override { return run_->previous_arrays(); }
  std::vector<StepActivity> activities(std::size_t first, std::size_t count) override {
    return run_->activities(first, count);
  }
  BlockFacts block_facts(std::int32_t block) override { return run_->block_facts(block); }
  std::optional<OwnCount> own_count(RequestId request) const override {
    return run_->own_count(request);
  }
  Result<WriteChain> write_chain(std::int32_t block, ContentKind content) override {
    return run_->write_chain(block, content);
  }
  std::span<const StepMark> marks() const override { return run_->marks(); }
  const FindingLog& finding_log() const override { return run_->finding_log(); }
  const BlockFaults& block_faults() const override { return run_->block_faults(); }
  std::span<const ShownBookmark> bookmarks() const override { return run_->bookmarks(); }
  Status set_bookmark(std::int64_t step, std::string_view note) override {
    return run_->set_bookmark(step, note);
  }
  Status remove_bookmarks(std::int64_t step) override { return run_->remove_bookmarks(step); }
  Result<std::unique_ptr<StepSource>> source() const override { return run_->source(); }
  SessionHeader header() const override { return run_->header(); }

 private:
  LiveRun& at(FaultIn place) const {
    if (place == place_) throw ContractViolation("cells: 3 of 2");
    return *run_;
  }

  std::unique_ptr<LiveRun> run_;
  FaultIn place_;
};

}  // namespace hybridscope::test
