// What requests shared and what they left: a tree of their token sequences, stored as the pieces
// that they are made of and merged where they begin alike, and the states in their blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/caching/cache_events.h"
#include "core/caching/retention.h"
#include "core/engine/engine_config.h"
#include "core/engine/token_sequence.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

struct CommonPrefix {
  std::int32_t num_tokens = 0;
  RequestId request{};  // the request that it is shared with; invalid: none, and num_tokens is 0
  friend bool operator==(const CommonPrefix&, const CommonPrefix&) = default;
};

// Finds the longest prefix that a sequence shares with any of those inserted, without looking at
// single tokens. Sequences under different roots (cache salts) share nothing. Two pieces begin
// alike iff source, content and first token are equal.
class PrefixTree {
 public:
  // At most `limit` tokens; of several requests that share equally many, the one inserted first.
  CommonPrefix longest(Fingerprint root, std::span<const PromptSegment> sequence,
                       std::int32_t limit) const;

  // Requires: the request was not inserted before.
  void insert(Fingerprint root, std::span<const PromptSegment> sequence, RequestId request);

  // The request has computed so many tokens of its sequence. Requires: it was inserted.
  void note_computed(RequestId request, std::int32_t num_tokens);
  // The most tokens of `sequence`, at most `limit`, that any request with the same first tokens has
  // computed.
  std::int32_t most_computed(Fingerprint root, std::span<const PromptSegment> sequence,
                             std::int32_t limit) const;

 private:
  struct Node {
    PromptSegment piece;  // the tokens between the node's parent and the node
    RequestId request;    // the first request whose sequence covers the whole piece
    std::int32_t parent = -1;
    std::int32_t end = 0;            // tokens from the root to the node
    std::int32_t most_computed = 0;  // by any request whose sequence ends here or below
  };
  // A child by its first token.
  struct Edge {
    std::int32_t parent = -1;
    PromptSegment::Source source = PromptSegment::Source::text;
    std::uint64_t content = 0;
    std::int32_t first = 0;
    friend bool operator==(const Edge&, const Edge&) = default;
  };
  struct EdgeHash {
    std::size_t operator()(const Edge& edge) const;
  };
  // How far a sequence follows the tree.
  struct Place {
    std::int32_t node = -1;    // the last node that is covered completely
    std::int32_t inside = -1;  // the child in whose piece the sequence ends; -1: it ends at `node`
    std::int32_t num_inside = 0;  // tokens of that piece
    std::size_t segment = 0;      // the first segment of the sequence that is not in the tree
    std::int32_t offset = 0;
    std::int32_t num_tokens = 0;
  };

  std::int32_t root_of(Fingerprint root) const;
  Place follow(std::int32_t root, std::span<const PromptSegment> sequence,
               std::int32_t limit) const;
  static bool along_piece(std::span<const PromptSegment> sequence, std::int32_t limit,
                          const PromptSegment& piece, Place& place);
  std::int32_t add_node(std::int32_t parent, const PromptSegment& piece, RequestId request);
  std::int32_t split(std::int32_t parent, std::int32_t child, std::int32_t num_tokens);

  std::vector<Node> nodes_;
  std::vector<std::int32_t> ends_;  // [requests] the node where the request's sequence ends
  std::unordered_map<Edge, std::int32_t, EdgeHash> children_;
  std::unordered_map<Fingerprint, std::int32_t> roots_;
};

// Which states requests left in their blocks, whether the prefix cache kept them or not. Followed
// step by step, in the first recurrent group.

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

}  // namespace hybridscope
