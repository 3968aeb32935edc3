// Engines whose traces get a fault between engine and checker.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "tests/core/check/expected_finding.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test {

// Arrays of a planted trace. A trace's views point into the engine; editing one moves it here.
class OwnedArrays {
 public:
  std::span<std::int32_t> edit(TensorView<std::int32_t>& view);
  std::span<std::uint8_t> edit(TensorView<std::uint8_t>& view);
  std::span<std::int32_t> edit(std::span<const std::int32_t>& view);
  std::span<std::uint8_t> edit(std::span<const std::uint8_t>& view);

 private:
  std::deque<std::vector<std::int32_t>> numbers_;
  std::deque<std::vector<std::uint8_t>> flags_;
};

using Plant = std::function<void(StepTrace&, OwnedArrays&)>;

// A checked engine that plants a fault in one step.
class PlantedRun {
 public:
  explicit PlantedRun(const SmallEngine& small, CheckScope scope = CheckScope::all)
      : run_(small, scope) {}
  PlantedRun(CheckScope scope, const EngineConfig& config) : run_(config, scope) {}

  // As CheckedEngine's.
  void keep_state_in(StateBackend& backend) { run_.keep_state_in(backend); }
  // Requests get the ids 0, 1, 2, ...
  PlantedRun& add(const AddRequest& request);
  // Before the next step.
  PlantedRun& apply(const Command& command);
  PlantedRun& steps(int count);
  PlantedRun& step(const Plant& plant);
  PlantedRun& finish();

  std::span<const Finding> findings() const { return run_.findings(); }
  std::span<const Finding> warnings() const { return run_.warnings(); }
  Engine& engine() { return run_.engine(); }
  std::int64_t num_steps() const { return run_.num_steps(); }

 private:
  CheckedEngine run_;
  OwnedArrays arrays_;
};

// Metadata of a group that holds this kind.
MambaMetadata& mamba_of(StepTrace& trace, std::size_t group = 1);
Mamba2Metadata& mamba2_of(StepTrace& trace, std::size_t group = 1);
GdnMetadata& gdn_of(StepTrace& trace, std::size_t group = 1);

// Removes the cache events for which `predicate` holds; returns their number.
std::size_t drop_events(std::vector<CacheEvent>& events,
                        const std::function<bool(const CacheEvent&)>& predicate);
// The only event of this kind in this group. Fails the test if there is none.
CacheEvent& event_of(std::vector<CacheEvent>& events, CacheEventKind kind, std::int32_t group);

// Requests of tests by their ids.
inline constexpr RequestId kA{0};
inline constexpr RequestId kB{1};
inline constexpr RequestId kC{2};

}  // namespace hybridscope::test
