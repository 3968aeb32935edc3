#include "sessions/cache_report/prefix_tree.h"

#include <algorithm>
#include <limits>

namespace hybridscope {
namespace {

// `piece` without its first `count` tokens.
PromptSegment rest_of(PromptSegment piece, std::int32_t count) {
  piece.first += count;
  piece.length -= count;
  return piece;
}

}  // namespace

std::size_t PrefixTree::EdgeHash::operator()(const Edge& edge) const {
  const std::uint64_t place =
      mix(static_cast<std::uint64_t>(edge.parent), static_cast<std::uint64_t>(edge.first));
  return mix(mix(place, edge.content), static_cast<std::uint64_t>(edge.source));
}

std::int32_t PrefixTree::root_of(Fingerprint root) const {
  const auto found = roots_.find(root);
  return found == roots_.end() ? -1 : found->second;
}

// Follows one piece while tokens are equal. False: the sequence leaves the piece before its end.
bool PrefixTree::along_piece(std::span<const PromptSegment> sequence, std::int32_t limit,
                             const PromptSegment& piece, Place& place) {
  while (place.num_inside < piece.length) {
    if (place.segment == sequence.size() || place.num_tokens == limit) return false;
    const PromptSegment& segment = sequence[place.segment];
    if (segment.source != piece.source || segment.content != piece.content ||
        segment.first + place.offset != piece.first + place.num_inside)
      return false;
    const std::int32_t count = std::min(
        {piece.length - place.num_inside, segment.length - place.offset, limit - place.num_tokens});
    place.num_inside += count;
    place.num_tokens += count;
    place.offset += count;
    if (place.offset < segment.length) continue;
    ++place.segment;
    place.offset = 0;
  }
  return true;
}

PrefixTree::Place PrefixTree::follow(std::int32_t root, std::span<const PromptSegment> sequence,
                                     std::int32_t limit) const {
  Place place{.node = root};
  while (place.segment < sequence.size() && place.num_tokens < limit) {
    const PromptSegment& segment = sequence[place.segment];
    const auto child = children_.find({.parent = place.node,
                                       .source = segment.source,
                                       .content = segment.content,
                                       .first = segment.first + place.offset});
    if (child == children_.end()) break;
    place.inside = child->second;
    if (!along_piece(sequence, limit, nodes_[static_cast<std::size_t>(child->second)].piece, place))
      break;
    place.node = place.inside;
    place.inside = -1;
    place.num_inside = 0;
  }
  return place;
}

CommonPrefix PrefixTree::longest(Fingerprint root, std::span<const PromptSegment> sequence,
                                 std::int32_t limit) const {
  const std::int32_t start = root_of(root);
  if (start < 0) return {};
  const Place place = follow(start, sequence, limit);
  const std::int32_t last = place.inside >= 0 ? place.inside : place.node;
  return {place.num_tokens, nodes_[static_cast<std::size_t>(last)].request};
}

std::int32_t PrefixTree::most_computed(Fingerprint root, std::span<const PromptSegment> sequence,
                                       std::int32_t limit) const {
  const std::int32_t start = root_of(root);
  if (start < 0) return 0;
  const Place place = follow(start, sequence, limit);
  std::int32_t most = 0;
  for (std::int32_t n = place.inside >= 0 ? place.inside : place.node; n >= 0;) {
    const Node& node = nodes_[static_cast<std::size_t>(n)];
    most = std::max(most, std::min({node.most_computed, node.end, place.num_tokens}));
    n = node.parent;
  }
  return most;
}

void PrefixTree::note_computed(RequestId request, std::int32_t num_tokens) {
  for (std::int32_t n = ends_[static_cast<std::size_t>(request.value)]; n >= 0;) {
    Node& node = nodes_[static_cast<std::size_t>(n)];
    if (node.most_computed >= num_tokens) return;
    node.most_computed = num_tokens;
    n = node.parent;
  }
}

std::int32_t PrefixTree::add_node(std::int32_t parent, const PromptSegment& piece,
                                  RequestId request) {
  const auto node = static_cast<std::int32_t>(nodes_.size());
  const std::int32_t begin = parent >= 0 ? nodes_[static_cast<std::size_t>(parent)].end : 0;
  nodes_.push_back(
      {.piece = piece, .request = request, .parent = parent, .end = begin + piece.length});
  if (parent >= 0) children_[{parent, piece.source, piece.content, piece.first}] = node;
  return node;
}

// Inserts a node between `parent` and `child`, after the first `num_tokens` tokens of the child's
// piece.
std::int32_t PrefixTree::split(std::int32_t parent, std::int32_t child, std::int32_t num_tokens) {
  const Node whole = nodes_[static_cast<std::size_t>(child)];
  PromptSegment head = whole.piece;
  head.length = num_tokens;
  const std::int32_t middle = add_node(parent, head, whole.request);
  nodes_[static_cast<std::size_t>(middle)].most_computed = whole.most_computed;
  Node& rest = nodes_[static_cast<std::size_t>(child)];
  rest.piece = rest_of(whole.piece, num_tokens);
  rest.parent = middle;
  children_[{middle, rest.piece.source, rest.piece.content, rest.piece.first}] = child;
  return middle;
}

void PrefixTree::insert(Fingerprint root, std::span<const PromptSegment> sequence,
                        RequestId request) {
  std::int32_t start = root_of(root);
  if (start < 0) {
    start = add_node(-1, {}, RequestId{});
    roots_[root] = start;
  }
  const Place place = follow(start, sequence, std::numeric_limits<std::int32_t>::max());
  std::int32_t node =
      place.num_inside > 0 ? split(place.node, place.inside, place.num_inside) : place.node;
  for (std::size_t i = place.segment; i < sequence.size(); ++i)
    node = add_node(node, i == place.segment ? rest_of(sequence[i], place.offset) : sequence[i],
                    request);
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= ends_.size()) ends_.resize(id + 1, -1);
  ends_[id] = node;
}

}  // namespace hybridscope
