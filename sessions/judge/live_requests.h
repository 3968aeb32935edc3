// The requests of a trace by name: who is live, and what the step that is being read has said of
// each so far.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"

namespace hybridscope {

class LiveRequests {
 public:
  // Where scheduler_output puts a request in one step.
  enum class Membership : std::uint8_t { none, scheduled_new_reqs, scheduled_cached_reqs };

  // What one step says of a request.
  struct InStep {
    Membership membership = Membership::none;
    std::int32_t row = -1;         // in num_scheduled_tokens
    bool needs_block_ids = false;  // admitted or resumed, and not yet in scheduler_block_ids
  };

  std::optional<RequestId> find(std::string_view name) const;
  // Requires: the name is not live.
  RequestId add(std::string_view name);
  // The name is free again; its number and its entry in name_of stay.
  void finish(RequestId request);

  const std::string& name_of(RequestId request) const;
  std::int32_t count() const { return static_cast<std::int32_t>(names_.size()); }

  // All requests have an empty InStep again.
  void begin_step() { ++step_; }
  InStep& in_step(RequestId request);

  // Lists name a request once: first_in_list() is false from the second time on.
  void begin_list() { ++list_; }
  bool first_in_list(RequestId request);

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  struct Entry {
    std::int64_t step = 0;  // that in_step is of
    std::int64_t list = 0;  // that named it last
    InStep in_step;
  };

  Entry& entry(RequestId request);

  std::unordered_map<std::string, RequestId, NameHash, std::equal_to<>> live_;
  std::vector<std::string> names_;  // [count], finished ones included
  std::vector<Entry> entries_;      // [count]
  std::int64_t step_ = 0;
  std::int64_t list_ = 0;
};

}  // namespace hybridscope
