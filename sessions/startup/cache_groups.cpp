#include "sessions/startup/cache_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/math.h"

namespace hybridscope {
namespace {

struct Bucket {
  LayerSpec spec;
  std::vector<std::int32_t> layers;
};

bool attends_to_all(const LayerSpec& spec) {
  return spec.kind == SpecKind::full || spec.kind == SpecKind::mla;
}

// Layers with equal specs, in the order of their first layers.
std::vector<Bucket> make_buckets(std::span<const LayerSpec> specs) {
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    auto bucket = std::ranges::find(buckets, specs[i], &Bucket::spec);
    if (bucket == buckets.end()) bucket = buckets.insert(bucket, {specs[i], {}});
    bucket->layers.push_back(static_cast<std::int32_t>(i));
  }
  return buckets;
}

// Every m-th layer of the bucket, from the i-th on.
std::vector<std::int32_t> strided(const std::vector<std::int32_t>& layers, std::size_t first,
                                  std::size_t step) {
  std::vector<std::int32_t> taken;
  for (std::size_t i = first; i < layers.size(); i += step) taken.push_back(layers[i]);
  return taken;
}

// All layers of several specs in one group, the uniform type.
StartupGroups one_group(const std::vector<Bucket>& buckets) {
  StartupGroup group{.spec = buckets.front().spec};
  std::int64_t bytes = 0;
  for (const Bucket& bucket : buckets) {
    group.layers.insert(group.layers.end(), bucket.layers.begin(), bucket.layers.end());
    bytes += bucket.spec.page_size_bytes * std::ssize(bucket.layers);
  }
  std::ranges::sort(group.layers);
  return {{std::move(group)}, bytes};
}

// Makes the pages of all layers as large as the largest: blocks of attention layers get more tokens
// where that fits, other pages are padded.
Status unify_pages(std::vector<Bucket>& buckets, const StartupSettings& settings) {
  std::int64_t largest = 0;
  for (const Bucket& bucket : buckets) largest = std::max(largest, bucket.spec.page_size_bytes);
  for (Bucket& bucket : buckets) {
    LayerSpec& spec = bucket.spec;
    if (spec.page_size_bytes == largest) continue;
    const bool is_mamba = spec.kind == SpecKind::mamba;
    const bool pads_states = settings.release >= since::kPadsStatePages;
    const bool divides = largest % spec.page_size_bytes == 0;
    if (is_mamba && !pads_states && divides)
      return Error{ErrorKind::not_available, "AssertionError: "};
    if ((is_mamba && !pads_states) || (spec.kind == SpecKind::mla && !divides))
      return Error{ErrorKind::not_available,
                   "NotImplementedError: page size is not divisible by the maximum page size and "
                   "cannot be padded."};
    if (!is_mamba && divides) spec.block_size *= largest / spec.page_size_bytes;
    spec.page_size_bytes = largest;
  }
  return Ok{};
}

// Buckets whose specs became equal when their pages did.
std::vector<Bucket> merged(std::vector<Bucket> buckets) {
  std::vector<Bucket> result;
  for (Bucket& bucket : buckets) {
    LayerSpec key = bucket.spec;
    key.unpadded_page_bytes = 0;
    auto same = std::ranges::find_if(result, [&](const Bucket& other) {
      LayerSpec spec = other.spec;
      spec.unpadded_page_bytes = 0;
      return spec == key;
    });
    if (same == result.end()) {
      result.push_back(std::move(bucket));
      continue;
    }
    same->layers.insert(same->layers.end(), bucket.layers.begin(), bucket.layers.end());
    std::ranges::sort(same->layers);
  }
  return result;
}

StartupGroups groups_of_one_size(const std::vector<Bucket>& buckets,
                                 std::vector<std::string>& lines) {
  std::size_t fewest = buckets.front().layers.size();
  std::size_t most = 0;
  for (const Bucket& bucket : buckets) {
    fewest = std::min(fewest, bucket.layers.size());
    most = std::max(most, bucket.layers.size());
  }
  const std::size_t size = 2 * most < 3 * fewest ? most : fewest;
  StartupGroups result;
  for (const Bucket& bucket : buckets) {
    const std::size_t num_layers = bucket.layers.size();
    if (const std::size_t rest = num_layers % size; rest != 0)
      lines.push_back(fmt::format(
          "Add {} padding layers, may waste at most {:.2f}% KV cache memory", size - rest,
          100.0 * static_cast<double>(size - rest) / static_cast<double>(num_layers)));
    const std::size_t num_groups = cdiv(num_layers, size);
    for (std::size_t i = 0; i < num_groups; ++i)
      result.groups.push_back({bucket.spec, strided(bucket.layers, i, num_groups)});
  }
  result.bytes_per_block = static_cast<std::int64_t>(size) * buckets.front().spec.page_size_bytes;
  return result;
}

// Groups whose blocks take different numbers of bytes (vLLM v1/core/kv_cache_planning.py): layers
// of one uniform type, split so that no group of states is wider than the widest other group.
struct PackedType {
  SpecKind kind = SpecKind::full;
  std::vector<Bucket> members = {};  // in the order of their first layers
  std::map<std::int64_t, std::int64_t> layers_of_page = {};

  bool is_state() const { return kind == SpecKind::mamba || kind == SpecKind::circular_buffer; }
  std::int64_t most_layers() const {
    std::int64_t most = 0;
    for (const auto& [page, count] : layers_of_page) most = std::max(most, count);
    return most;
  }
  std::int64_t num_layers() const {
    std::int64_t sum = 0;
    for (const auto& [page, count] : layers_of_page) sum += count;
    return sum;
  }
  bool is_balanced() const {
    return std::ranges::all_of(layers_of_page, [&](const auto& entry) {
      return entry.second == layers_of_page.begin()->second;
    });
  }
  std::int64_t widest(std::int64_t num_groups) const {
    std::int64_t bytes = 0;
    for (const auto& [page, count] : layers_of_page) bytes += cdiv(count, num_groups) * page;
    return bytes;
  }
};

std::vector<PackedType> packed_types(std::vector<Bucket> buckets) {
  using Key = std::tuple<SpecKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;
  std::vector<std::pair<Key, PackedType>> types;
  for (Bucket& bucket : buckets) {
    const LayerSpec& spec = bucket.spec;
    const SpecKind kind = spec.kind == SpecKind::mla ? SpecKind::full : spec.kind;
    const bool is_mamba = kind == SpecKind::mamba;
    const Key key{kind,
                  spec.block_size,
                  is_mamba ? spec.page_size_bytes : spec.window,
                  spec.num_speculative_blocks,
                  spec.num_prefill_checkpoint_blocks,
                  spec.is_ple};
    auto found = std::ranges::find(types, key, &std::pair<Key, PackedType>::first);
    if (found == types.end()) found = types.insert(found, {key, {.kind = kind}});
    found->second.layers_of_page[spec.page_size_bytes] += std::ssize(bucket.layers);
    found->second.members.push_back(std::move(bucket));
  }
  std::vector<PackedType> result;
  for (auto& [key, type] : types) result.push_back(std::move(type));
  return result;
}

// The number that pads `values` least when each is rounded up to a multiple of it; the largest of
// several. At least `low`.
std::int64_t approximate_gcd(const std::vector<std::int64_t>& values, std::int64_t low) {
  std::int64_t best = low;
  std::optional<std::int64_t> least;
  for (std::int64_t d = std::max<std::int64_t>(1, low); d <= std::ranges::max(values); ++d) {
    std::int64_t padding = 0;
    for (const std::int64_t value : values) padding += round_up(value, d) - value;
    if (least && padding > *least) continue;
    least = padding;
    best = d;
  }
  return best;
}

StartupGroups packed_groups(const StartupModel& model, std::vector<Bucket> buckets) {
  const std::vector<PackedType> types = packed_types(std::move(buckets));
  std::int64_t floor = 0;
  std::vector<std::int64_t> counts;
  for (const PackedType& type : types) {
    if (!type.is_balanced()) continue;
    counts.push_back(type.most_layers());
    if (type.layers_of_page.size() > 1) floor = std::max(floor, type.most_layers());
  }
  const std::int64_t repeats = floor > 0 ? approximate_gcd(counts, floor) : 0;
  const auto is_state = [&](const PackedType& type) {
    return type.is_state() || (repeats == 0 && type.kind == SpecKind::sliding_window);
  };
  const auto count_of = [&](const PackedType& type) {
    return type.is_balanced() && repeats > 0 ? cdiv(type.most_layers(), repeats) : std::int64_t{1};
  };
  std::int64_t anchor = 0;
  for (const PackedType& type : types)
    anchor = std::max(anchor, type.widest(is_state(type) ? type.num_layers() : count_of(type)));
  StartupGroups result;
  for (const PackedType& type : types) {
    std::int64_t num_groups = count_of(type);
    if (is_state(type))
      num_groups = std::max(
          num_groups,
          cdiv(type.num_layers(),
               std::max<std::int64_t>(anchor / type.members.front().spec.page_size_bytes, 1)));
    for (std::int64_t i = 0; i < num_groups; ++i) {
      StartupGroup group{.spec = type.members.front().spec};
      std::int64_t bytes = 0;
      for (const Bucket& member : type.members) {
        const auto taken = strided(member.layers, static_cast<std::size_t>(i),
                                   static_cast<std::size_t>(num_groups));
        bytes += member.spec.page_size_bytes * std::ssize(taken);
        group.layers.insert(group.layers.end(), taken.begin(), taken.end());
      }
      std::ranges::sort(group.layers);
      result.bytes_per_block = std::max(result.bytes_per_block, bytes);
      result.groups.push_back(std::move(group));
    }
  }
  result.bytes_per_block = round_up(result.bytes_per_block, model.stride_alignment);
  return result;
}

}  // namespace

Result<StartupGroups> group_layers(const StartupModel& model, const StartupSettings& settings,
                                   std::span<const LayerSpec> specs,
                                   std::vector<std::string>& lines) {
  if (specs.empty()) return invalid_input("the model has no layer that caches anything");
  std::vector<Bucket> buckets = make_buckets(specs);
  if (buckets.size() == 1) return one_group(buckets);
  const bool all_attend = std::ranges::all_of(buckets, [&](const Bucket& bucket) {
    return attends_to_all(bucket.spec) && bucket.spec.block_size == buckets.front().spec.block_size;
  });
  if (all_attend) return one_group(buckets);
  const bool several_pages = std::ranges::any_of(buckets, [&](const Bucket& bucket) {
    return bucket.spec.page_size_bytes != buckets.front().spec.page_size_bytes;
  });
  if (settings.release >= since::kPackedGroups && model.is_block_outermost && several_pages)
    return packed_groups(model, std::move(buckets));
  if (Status unified = unify_pages(buckets, settings); !unified.ok()) return unified.error();
  return groups_of_one_size(merged(std::move(buckets)), lines);
}

std::int64_t blocks_per_request(const LayerSpec& spec, const StartupSettings& settings,
                                const StartupConfig& config, std::int64_t num_tokens) {
  const std::int64_t in_flight = settings.release >= since::kInFlightTokens
                                     ? config.max_in_flight_tokens
                                     : config.max_num_batched_tokens;
  switch (spec.kind) {
    case SpecKind::full:
    case SpecKind::mla: return cdiv(num_tokens, spec.block_size);
    case SpecKind::sliding_window:
      return cdiv(std::min(spec.window - 1 + in_flight, num_tokens), spec.block_size) + 1;
    case SpecKind::chunked_local:
      return cdiv(std::min(spec.window + in_flight, num_tokens), spec.block_size);
    case SpecKind::circular_buffer: return 1;
    case SpecKind::mamba: break;
  }
  switch (config.mamba_cache_mode) {
    case MambaCacheMode::none: return 1 + spec.num_speculative_blocks;
    case MambaCacheMode::align:
      return 2 + spec.num_speculative_blocks + spec.num_prefill_checkpoint_blocks;
    case MambaCacheMode::all:
      return cdiv(num_tokens, spec.block_size) + spec.num_speculative_blocks;
  }
  return 0;
}

}  // namespace hybridscope
