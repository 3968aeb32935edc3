// One request as the whole engine knows it: the scheduler's part, its tokens, and the worker's
// part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/engine/prefix_fingerprints.h"
#include "core/engine/request.h"
#include "core/engine/token_sequence.h"

namespace hybridscope {

// What the worker keeps of a request between steps, whether or not it has a row.
struct WorkerRequest {
  std::vector<std::vector<std::int32_t>> block_ids;  // [groups][columns] append-only
  std::optional<std::int32_t> mamba_state_idx;  // align: running column; all: last scheduled column
  std::int32_t num_accepted_tokens = 1;         // of its last step, bonus token included
};

struct EngineRequest {
  std::string name;
  Request scheduling;
  TokenSequence tokens;
  PrefixFingerprints prefix;
  std::uint64_t key = 0;
  WorkerRequest worker;
  std::optional<std::int32_t> scripted_num_accepted;
};

// Requests by id. A finished request keeps its place and its name; the rest is given back.
class RequestList {
 public:
  EngineRequest& add() {
    requests_.push_back(std::make_unique<EngineRequest>());
    requests_.back()->scheduling.id = {static_cast<std::int32_t>(requests_.size()) - 1};
    return *requests_.back();
  }
  EngineRequest& operator[](RequestId id) { return *requests_[index(id)]; }
  const EngineRequest& operator[](RequestId id) const { return *requests_[index(id)]; }
  bool contains(RequestId id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < requests_.size();
  }
  std::size_t size() const { return requests_.size(); }

 private:
  std::size_t index(RequestId id) const {
    HS_EXPECT(contains(id));
    return static_cast<std::size_t>(id.value);
  }
  std::vector<std::unique_ptr<EngineRequest>> requests_;
};

}  // namespace hybridscope
