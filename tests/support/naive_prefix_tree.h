// Every token history of a run as a node of a tree: two histories are equal iff their nodes are.
// The naive engine uses nodes as states and hashes, so it compares them exactly.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hybridscope::test {

inline constexpr int kNaivePoison = -1;  // never written, or freed
inline constexpr int kNaiveZeros = 0;    // "before the first token"

class NaivePrefixTree {
 public:
  // The empty history under a cache salt; kNaiveZeros for salt 0.
  int root(std::uint64_t salt) {
    if (salt == 0) return kNaiveZeros;
    const auto [found, added] = roots_.try_emplace(salt, static_cast<int>(nodes_.size()));
    if (added) nodes_.push_back({found->second, 0});
    return found->second;
  }

  // The history `node` followed by `token`. Poison stays poison.
  int child(int node, std::uint64_t token) {
    if (node == kNaivePoison) return kNaivePoison;
    const auto next = static_cast<int>(nodes_.size());
    const auto [found, added] = children_.try_emplace({node, token}, next);
    if (added) nodes_.push_back({node, depth(node) + 1});
    return found->second;
  }

  // Number of tokens of a history.
  int depth(int node) const { return nodes_[static_cast<std::size_t>(node)].depth; }

  // The history without its last `count` tokens; kNaiveZeros when fewer than one token is left.
  int shortened(int node, int count) const {
    if (count >= depth(node)) return kNaiveZeros;
    for (; count > 0; --count) node = nodes_[static_cast<std::size_t>(node)].parent;
    return node;
  }

  // Is `prefix` a prefix of `node`?
  bool is_prefix(int prefix, int node) const {
    while (depth(node) > depth(prefix)) node = nodes_[static_cast<std::size_t>(node)].parent;
    return node == prefix;
  }

 private:
  struct Node {
    int parent = 0;
    int depth = 0;
  };
  std::vector<Node> nodes_ = {Node{}};
  std::map<std::uint64_t, int> roots_;
  std::map<std::pair<int, std::uint64_t>, int> children_;
};

}  // namespace hybridscope::test
