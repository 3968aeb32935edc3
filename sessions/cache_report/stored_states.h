// Which states requests left in their blocks, whether the prefix cache kept them or not. Followed
// step by step, in the first recurrent group.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/caching/cache_events.h"
#include "core/caching/retention.h"
#include "core/engine/engine_config.h"
#include "core/trace/schedule_trace.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// A state that was in a block of a request but is not in the prefix cache.
struct UnkeptState {
  std::int32_t num_tokens = 0;  // before it; 0: there is none
  bool checkpoint = false;      // stored on the way of a chunk (semantics: prefill-checkpoint)
  // What the retention interval keeps of that request.
  std::vector<KeptBoundary> kept = {};
  friend bool operator==(const UnkeptState&, const UnkeptState&) = default;
};

// Follows nothing where every state is kept.
class StoredStates {
 public:
  explicit StoredStates(const EngineConfig& config);

  // Does the configuration leave states out?
  bool active() const { return group_ >= 0; }
  // Before the events of the step: what the frames before it have reached.
  void step_begins(const StepTrace& trace);
  void take(const CacheEvent& event);
  // After the events of the step: what it reaches itself.
  void step_ends(const StepTrace& trace);

  // The last state of the request after `first` tokens and at most `last` of them; all of them are
  // states that the cache does not have.
  UnkeptState last_unkept(RequestId request, std::int32_t first, std::int32_t last) const;

 private:
  struct Stored {
    std::int32_t num_tokens = 0;
    bool checkpoint = false;
  };
  struct Request {
    std::vector<std::int32_t> blocks;  // [columns] of the group
    std::int32_t num_computed = 0;
    CachedPrompt prompt = {};
    std::vector<Stored> stored;
  };

  Request& at(RequestId request);
  // `checkpoint_column`: its block holds another state than that at its end; -1: none.
  void reach(Request& request, std::int32_t num_tokens, std::int32_t checkpoint_column = -1);

  std::int32_t group_ = -1;  // -1: none to follow
  std::int32_t block_size_ = 1;
  bool drops_eagle_block_ = false;
  RetentionRule rule_ = {};
  std::vector<Request> requests_;  // by id
};

// What decides which states of a prompt stay in the prefix cache (semantics: retention), as the
// first recurrent group of a configuration has it.

struct GroupRetention {
  std::int32_t group = -1;
  std::int32_t block_size = 1;
  bool drops_eagle_block = false;
  RetentionRule rule = {};  // without an interval every state is kept
};

// The retention rule of the recurrent groups; empty if prefix caching is off or no group has
// recurrent state.
std::optional<GroupRetention> group_retention(const EngineConfig& config);

// The end of the longest prefix that some group had, if the hit is shorter (semantics: junction);
// 0: there is none.
std::int32_t junction_of(const AdmissionLookup& lookup);

}  // namespace hybridscope
