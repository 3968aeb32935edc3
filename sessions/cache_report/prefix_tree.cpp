#include "sessions/cache_report/prefix_tree.h"

#include <algorithm>
#include <limits>

#include "core/caching/hybrid_coordinator.h"
#include "core/caching/manager_policies.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {
namespace {

// `piece` without its first `count` tokens.
PromptSegment rest_of(PromptSegment piece, std::int32_t count) {
  piece.first += count;
  piece.length -= count;
  return piece;
}

// The end of the longest prefix that some group had, if the hit is shorter (semantics: junction);
// 0: there is none.
std::int32_t junction_of(const AdmissionLookup& lookup) {
  const std::int32_t longest = lookup.explanation.longest_hit_length;
  return longest > lookup.num_hit_tokens ? longest : 0;
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

StoredStates::StoredStates(const EngineConfig& config) {
  const std::optional<GroupRetention> retention = group_retention(config);
  if (!retention || !retention->rule.interval) return;
  group_ = retention->group;
  block_size_ = retention->block_size;
  drops_eagle_block_ = retention->drops_eagle_block;
  rule_ = retention->rule;
}

StoredStates::Request& StoredStates::at(RequestId request) {
  const auto index = static_cast<std::size_t>(request.value);
  if (index >= requests_.size()) requests_.resize(index + 1);
  return requests_[index];
}

// A block that is full holds the state at its end.
void StoredStates::reach(Request& request, std::int32_t num_tokens,
                         std::int32_t checkpoint_column) {
  for (std::int32_t column = request.num_computed / block_size_;
       (column + 1) * block_size_ <= num_tokens; ++column)
    if (column != checkpoint_column && static_cast<std::size_t>(column) < request.blocks.size() &&
        request.blocks[static_cast<std::size_t>(column)] != kNullBlock)
      request.stored.push_back({.num_tokens = (column + 1) * block_size_});
  request.num_computed = std::max(request.num_computed, num_tokens);
}

// Accepted drafts count once the next step says so; until then the columns are as they were.
void StoredStates::step_begins(const StepTrace& trace) {
  if (!active()) return;
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.admission == Admission::running)
      reach(at(scheduled.request), scheduled.num_computed_tokens);
}

void StoredStates::take(const CacheEvent& event) {
  if (event.group != group_ || !active()) return;
  if (event.kind == CacheEventKind::table_dropped) {
    at(event.request).blocks.clear();
  } else if (event.kind == CacheEventKind::column_set) {
    std::vector<std::int32_t>& blocks = at(event.request).blocks;
    const auto column = static_cast<std::size_t>(event.column);
    if (column >= blocks.size()) blocks.resize(column + 1, kNullBlock);
    blocks[column] = event.block;
  }
}

void StoredStates::step_ends(const StepTrace& trace) {
  if (!active()) return;
  for (const AdmissionLookup& lookup : trace.lookups)
    at(lookup.request).prompt.shared_prefix_boundary = junction_of(lookup);
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    Request& request = at(scheduled.request);
    request.prompt.num_prompt_tokens = scheduled.num_prompt_tokens;
    if (scheduled.admission != Admission::running)
      request.num_computed = scheduled.num_computed_tokens;
    const bool checkpoint = scheduled.checkpoint_position > 0;
    if (checkpoint)
      request.stored.push_back({.num_tokens = scheduled.checkpoint_position, .checkpoint = true});
    reach(
        request,
        scheduled.num_computed_tokens + scheduled.num_scheduled_tokens - scheduled.num_draft_tokens,
        checkpoint ? scheduled.checkpoint_column : -1);
  }
}

UnkeptState StoredStates::last_unkept(RequestId request, std::int32_t first,
                                      std::int32_t last) const {
  UnkeptState found;
  const auto index = static_cast<std::size_t>(request.value);
  if (!active() || index >= requests_.size()) return found;
  for (const Stored& stored : requests_[index].stored)
    if (stored.num_tokens > std::max(first, found.num_tokens) && stored.num_tokens <= last &&
        stored.num_tokens % rule_.hit_alignment == 0) {
      found.num_tokens = stored.num_tokens;
      found.checkpoint = stored.checkpoint;
    }
  if (found.num_tokens > 0)
    found.kept = kept_boundaries(rule_, requests_[index].prompt, block_size_, drops_eagle_block_);
  return found;
}

std::optional<GroupRetention> group_retention(const EngineConfig& config) {
  const auto& groups = config.kv_cache_config.groups;
  const auto mamba = std::ranges::find_if(groups, &KVCacheGroup::is_mamba);
  const KVCacheManagerConfig cache = kv_cache_manager_config(config);
  if (!cache.enable_caching || mamba == groups.end()) return std::nullopt;
  const auto coordinator =
      HybridCoordinator::create({.groups = groups,
                                 .enable_caching = cache.enable_caching,
                                 .use_eagle = cache.use_eagle,
                                 .scheduler_block_size = cache.scheduler_block_size,
                                 .hash_block_size = cache.hash_block_size,
                                 .policies = cache.policies});
  if (!coordinator.ok()) return std::nullopt;
  const auto group = static_cast<std::int32_t>(mamba - groups.begin());
  return GroupRetention{.group = group,
                        .block_size = mamba->block_size(),
                        .drops_eagle_block = coordinator.value().is_eagle_group(group),
                        .rule = {.interval = cache.retention_interval,
                                 .boundaries = cache.policies.get<ReachableBoundaries>(),
                                 .scheduler_block_size = cache.scheduler_block_size,
                                 .hit_alignment = coordinator.value().hit_alignment(),
                                 .eagle_block_drop = coordinator.value().any_eagle_group()}};
}

}  // namespace hybridscope
