// A tree of token sequences, stored as the pieces they are made of and merged where they begin
// alike. Finds the longest prefix that a sequence shares with any of them without looking at single
// tokens.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/engine/token_sequence.h"

namespace hybridscope {

struct CommonPrefix {
  std::int32_t num_tokens = 0;
  RequestId request{};  // the request that it is shared with; invalid: none, and num_tokens is 0
  friend bool operator==(const CommonPrefix&, const CommonPrefix&) = default;
};

// Sequences under different roots (cache salts) share nothing. Two pieces begin alike iff source,
// content and first token are equal.
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

}  // namespace hybridscope
