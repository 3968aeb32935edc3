#include "core/model/layer_groups.h"

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {

Result<LayerGroups> make_layer_groups(std::span<const LayersOfKind> kinds) {
  LayerGroups result;
  for (const LayersOfKind& layers : kinds) {
    const auto n = static_cast<std::int32_t>(layers.size());
    if (n == 0) continue;
    result.n_min = result.n_max == 0 ? n : std::min(result.n_min, n);
    result.n_max = std::max(result.n_max, n);
  }
  if (result.n_max == 0) return invalid_input("the model has no layer that caches anything");

  // n_max < 1.5 * n_min, in integers.
  const bool nearly_equal = 2 * std::int64_t{result.n_max} < 3 * std::int64_t{result.n_min};
  result.group_size = nearly_equal ? result.n_max : result.n_min;

  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const LayersOfKind& layers = kinds[kind];
    const auto n = static_cast<std::int32_t>(layers.size());
    const std::int32_t num_groups = cdiv(n, result.group_size);
    result.num_padding_layers += num_groups * result.group_size - n;
    for (std::int32_t first = 0; first < num_groups; ++first) {
      LayerGroup group{static_cast<std::int32_t>(kind), {}};
      for (std::int32_t i = first; i < n; i += num_groups)
        group.layers.push_back(layers[static_cast<std::size_t>(i)]);
      result.groups.push_back(std::move(group));
    }
  }
  return result;
}

}  // namespace hybridscope
