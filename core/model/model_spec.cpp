#include "core/model/model_spec.h"

#include <type_traits>

namespace hybridscope {

MambaType mamba_type_of(const RecurrentDims& dims) {
  static_assert(std::is_same_v<std::variant_alternative_t<4, RecurrentDims>, GatedDeltaNetDims>);
  static_assert(static_cast<std::size_t>(MambaType::gdn_attention) == 4);
  return static_cast<MambaType>(dims.index());
}

Result<std::vector<StateShape>> state_shapes(const RecurrentDims& dims,
                                             const StateShapeOptions& options) {
  struct Visitor {
    const StateShapeOptions& options;
    auto operator()(const Mamba1Dims& d) const { return mamba1_state_shape(d, options); }
    auto operator()(const Mamba2Dims& d) const { return mamba2_state_shape(d, options); }
    auto operator()(const LinearAttentionDims& d) const {
      return linear_attention_state_shape(d, options);
    }
    auto operator()(const ShortConvDims& d) const { return short_conv_state_shape(d, options); }
    auto operator()(const GatedDeltaNetDims& d) const {
      return gated_delta_net_state_shape(d, options);
    }
    auto operator()(const KdaDims& d) const { return kda_state_shape(d, options); }
  };
  return std::visit(Visitor{options}, dims);
}

std::int64_t conv_kernel_of(const RecurrentDims& dims) {
  struct Visitor {
    std::int64_t operator()(const Mamba1Dims& d) const { return d.conv_kernel; }
    std::int64_t operator()(const Mamba2Dims& d) const { return d.conv_kernel; }
    std::int64_t operator()(const LinearAttentionDims&) const { return 0; }
    std::int64_t operator()(const ShortConvDims& d) const { return d.conv_kernel; }
    std::int64_t operator()(const GatedDeltaNetDims& d) const { return d.conv_kernel_size; }
    std::int64_t operator()(const KdaDims& d) const { return d.conv_kernel_size; }
  };
  return std::visit(Visitor{}, dims);
}

Result<std::vector<LayerKind>> layers_from_pattern(std::string_view pattern) {
  std::vector<LayerKind> layers;
  for (const char letter : pattern) {
    if (letter == 'M') {
      layers.push_back(LayerKind::recurrent);
    } else if (letter == '*') {
      layers.push_back(LayerKind::attention);
    } else if (letter == '-' || letter == 'E') {
      layers.push_back(LayerKind::stateless);
    } else {
      return invalid_input("layer pattern: letter " + std::to_string(layers.size()) + " is '" +
                           std::string(1, letter) +
                           "', expected M (recurrent), * (attention), - or E (no cache)");
    }
  }
  return layers;
}

std::vector<std::int32_t> layers_of_kind(const ModelSpec& model, LayerKind kind) {
  std::vector<std::int32_t> layers;
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (model.layers[i] == kind) layers.push_back(static_cast<std::int32_t>(i));
  return layers;
}

}  // namespace hybridscope
