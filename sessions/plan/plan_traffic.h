// The traffic of a plan: read once, and its prompts hashed once, for all its runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "core/engine/prompt_folding.h"
#include "sessions/run/runner.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope {

// Threads may use it at the same time.
class PlanTraffic {
 public:
  // `limit`: takes only this many requests from the front; 0: all. `num_kept`: ways of folding that
  // are kept; at least one for each thread.
  PlanTraffic(std::string name, Traffic traffic, std::int64_t limit, std::size_t num_kept);
  PlanTraffic(const PlanTraffic&) = delete;
  PlanTraffic& operator=(const PlanTraffic&) = delete;

  const std::string& name() const { return name_; }
  const Traffic& traffic() const { return traffic_; }

  // The fingerprints of all prompts for an engine with this configuration. Those used last are kept
  // for later calls; they depend on the block size and little else.
  FoldedPrompts folded(const EngineConfig& config);
  // How often all prompts were folded.
  std::int64_t num_folded() const;

  // 16 hex digits of all requests: their arrivals, prompts and lengths.
  std::string digest() const;

 private:
  struct Way {
    PromptFolding folding;
    std::mutex mutex;  // held while the prompts are folded
    FoldedPrompts prompts;
  };
  std::shared_ptr<Way> way_of(const PromptFolding& folding);

  std::string name_;
  Traffic traffic_;
  std::size_t num_kept_;
  mutable std::mutex mutex_;              // guards what follows
  std::list<std::shared_ptr<Way>> ways_;  // the last used in front
  std::int64_t num_folded_ = 0;
};

}  // namespace hybridscope
