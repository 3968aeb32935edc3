// Puts layers of equal spec into groups of equal size, because one block id stands for the same
// page in every layer of a group (semantics: layer-groups).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// The layers of one kind, as numbers in the model, ascending.
using LayersOfKind = std::vector<std::int32_t>;

struct LayerGroup {
  std::int32_t kind = 0;                  // index into the kinds given
  std::vector<std::int32_t> layers = {};  // ascending
  friend bool operator==(const LayerGroup&, const LayerGroup&) = default;
};

struct LayerGroups {
  std::int32_t group_size = 0;          // g: layer slots of each group
  std::int32_t n_min = 0;               // fewest layers of a kind
  std::int32_t n_max = 0;               // most layers of a kind
  std::int32_t num_padding_layers = 0;  // slots that no layer uses, over all groups
  std::vector<LayerGroup> groups = {};  // kind by kind, in the order given
  friend bool operator==(const LayerGroups&, const LayerGroups&) = default;
};

// g = n_min, but n_max when n_max < 1.5 * n_min; a kind of n layers makes m = ceil(n/g) groups, and
// group i holds its layers i, i+m, i+2m, ... Kinds without layers are left out.
// Error: no kind has a layer.
Result<LayerGroups> make_layer_groups(std::span<const LayersOfKind> kinds);

}  // namespace hybridscope
