// What hybridscope needs to know about a model: its layers in order and the dimensions that decide
// the size of what each layer caches. Plain values; presets and config.json files both become one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"
#include "core/model/state_shape.h"

namespace hybridscope {

// stateless: a layer without cache (the MLP layers that Nemotron-H counts as layers).
enum class LayerKind : std::uint8_t { attention, recurrent, stateless };

enum class AttentionType : std::uint8_t { full, mla };

// Keys and values of one attention layer before sharding.
struct AttentionDims {
  AttentionType attention_type = AttentionType::full;
  std::int64_t num_kv_heads = 0;      // full
  std::int64_t head_size = 0;         // full
  std::int64_t kv_lora_rank = 0;      // mla: latent vector, not sharded
  std::int64_t qk_rope_head_dim = 0;  // mla
  friend bool operator==(const AttentionDims&, const AttentionDims&) = default;
};

// In the order of MambaType.
using RecurrentDims = std::variant<Mamba1Dims, Mamba2Dims, LinearAttentionDims, ShortConvDims,
                                   GatedDeltaNetDims, KdaDims>;

MambaType mamba_type_of(const RecurrentDims& dims);

// State shapes, by the reference's function for the layer's kind.
Result<std::vector<StateShape>> state_shapes(const RecurrentDims& dims,
                                             const StateShapeOptions& options);

// Convolution width W; 0 for a layer without conv state.
std::int64_t conv_kernel_of(const RecurrentDims& dims);

// Does the reference's model code hand num_speculative_tokens to the shape function? (known bug 25)
enum class SpecInStateShape : std::uint8_t { not_passed, passed };

// Can the layer's kernels leave a state at every block boundary?
enum class MambaAllMode : std::uint8_t { unsupported, supported };

struct ModelSpec {
  std::string name = {};
  std::string source = {};             // where the dimensions come from
  std::vector<LayerKind> layers = {};  // [num_hidden_layers], in model order
  AttentionDims attention = {};        // meaningless without attention layers
  RecurrentDims recurrent = {};        // all recurrent layers of a model are alike
  std::string dtype = "bfloat16";      // model_config.dtype
  // The dtype of recurrent states where mamba_ssm_cache_dtype is auto; auto: that of conv states.
  std::string mamba_ssm_dtype = "auto";
  std::int64_t chunk_size = 0;     // tokens per chunk of the scan kernels (mode all)
  std::int64_t max_model_len = 0;  // max_position_embeddings
  MambaAllMode mamba_all_mode = MambaAllMode::unsupported;
  SpecInStateShape spec_in_state_shape = SpecInStateShape::not_passed;
  std::int64_t kernel_block_alignment = 16;             // attention kernel's smallest block
  std::optional<std::int64_t> default_block_size = {};  // used when the user sets no block size
  // The texts of config.json that a release plans its start from; empty: a model made for
  // hybridscope, and no draft model.
  std::string config = {};
  std::string draft_config = {};
  std::string not_run_because = {};  // why the engine has no run of it; empty: it has
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// Layers from the letters of Nemotron-H's hybrid_override_pattern: M recurrent, * attention, - or E
// (MLP, experts) stateless. Error: another letter.
Result<std::vector<LayerKind>> layers_from_pattern(std::string_view pattern);

// Layer numbers of one kind, ascending.
std::vector<std::int32_t> layers_of_kind(const ModelSpec& model, LayerKind kind);

}  // namespace hybridscope
