// One request as the whole engine knows it: the scheduler's part, its tokens, and the worker's
// part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/engine/accepted_count.h"
#include "core/engine/prefix_fingerprints.h"
#include "core/engine/request.h"
#include "core/engine/token_sequence.h"

namespace hybridscope {

// What the worker keeps of a request between steps, whether or not it has a row.
struct WorkerRequest {
  std::vector<std::vector<std::int32_t>> block_ids;  // [groups][columns] append-only
  AcceptedCount accepted;                            // of its last frame
  AcceptedCount previously_accepted;                 // of the frame before that
  std::int32_t num_draft_tokens = 0;                 // prev_num_draft_len: d of its last step
  std::int32_t num_computed_tokens = 0;  // exact: rejected drafts of the last step taken off
};

struct EngineRequest {
  Request scheduling;
  TokenSequence tokens;
  PrefixFingerprints prefix;
  std::uint64_t key = 0;
  std::uint64_t cache_salt = 0;
  WorkerRequest worker;
  std::optional<std::int32_t> scripted_num_accepted_tokens;
};

// Requests by id. A finished request keeps its name; release() frees the rest.
class RequestList {
 public:
  RequestList() = default;
  // A deep copy: each copied request views the fingerprints of the copy.
  RequestList(const RequestList& other);
  RequestList(RequestList&&) = default;
  RequestList& operator=(RequestList&&) = default;
  RequestList& operator=(const RequestList&) = delete;

  EngineRequest& add(std::string name) {
    requests_.push_back(std::make_unique<EngineRequest>());
    names_.push_back(std::move(name));
    requests_.back()->scheduling.id = {static_cast<std::int32_t>(requests_.size()) - 1};
    return *requests_.back();
  }
  EngineRequest& operator[](RequestId id) {
    HS_EXPECT(holds(id));
    return *requests_[static_cast<std::size_t>(id.value)];
  }
  const EngineRequest& operator[](RequestId id) const {
    HS_EXPECT(holds(id));
    return *requests_[static_cast<std::size_t>(id.value)];
  }
  const std::string& name_of(RequestId id) const {
    HS_EXPECT(contains(id));
    return names_[static_cast<std::size_t>(id.value)];
  }
  void release(RequestId id) { requests_[static_cast<std::size_t>(id.value)].reset(); }

  // Was a request of this id ever added?
  bool contains(RequestId id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < requests_.size();
  }
  // Was it added and not released?
  bool holds(RequestId id) const {
    return contains(id) && requests_[static_cast<std::size_t>(id.value)] != nullptr;
  }
  std::size_t size() const { return requests_.size(); }

 private:
  std::vector<std::unique_ptr<EngineRequest>> requests_;
  std::vector<std::string> names_;
};

}  // namespace hybridscope
