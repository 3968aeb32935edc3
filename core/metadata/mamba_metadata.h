// Settings and results of the metadata builders for recurrent layers. Names, shapes and dtypes are
// those of the reference's metadata classes; an absent view is its None.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/causal_conv1d_metadata.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// What a builder reads of the engine's settings.
struct MambaBuilderConfig {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int32_t block_size = 16;
  std::int32_t num_spec = 0;                // speculative tokens a step, K
  std::int32_t num_speculative_blocks = 0;  // of the KV-cache spec; K in the reference
  std::int32_t max_num_seqs = 1;
  std::int32_t max_model_len = 1;
  std::optional<std::int32_t> max_cudagraph_capture_size{};  // tokens
  bool full_cudagraph = false;                               // the graph mode has full graphs
  bool parallel_drafting = false;
  std::int32_t decode_context_parallel_size = 1;
  std::optional<std::int32_t> chunk_size{};  // Mamba2 only: tokens a chunk of the SSD scan
};

// Errors: a size below 1, a negative count.
Status check_config(const MambaBuilderConfig& config);

// Metadata of one step for the Mamba1 layers of one KV-cache group. _d: decode rows, _p: prefill
// rows. In the CUDA graph branch the decode arrays are views of the builder's persistent buffers.
struct MambaMetadata {
  std::int32_t num_prefills = 0;
  std::int32_t num_prefill_tokens = 0;
  std::int32_t num_decodes = 0;
  std::int32_t num_decode_tokens = 0;
  std::int32_t num_reqs = 0;
  TensorView<std::uint8_t> has_initial_states_p{};    // bool [num_prefills]
  TensorView<std::int32_t> query_start_loc_p{};       // [num_prefills + 1], from 0
  TensorView<std::int32_t> num_computed_tokens_p{};   // [num_prefills], all mode
  TensorView<std::int32_t> state_indices_tensor_p{};  // [num_prefills]; all: [.., columns]
  TensorView<std::int32_t> state_indices_tensor_d{};  // [num_decodes, 1 + K]; all: [.., columns]
  TensorView<std::int32_t> query_start_loc_d{};       // [num_decodes + 1], K > 0
  TensorView<std::int32_t> num_accepted_tokens{};     // [num_decodes] if K > 0, else as given
  TensorView<std::int32_t> block_idx_last_scheduled_token{};     // all: [num_reqs]; graph branch:
  TensorView<std::int32_t> block_idx_last_computed_token{};      //   [num_decode_tokens]
  TensorView<std::int32_t> block_idx_first_scheduled_token_p{};  // all: [num_prefills]
  TensorView<std::int32_t> seq_lens{};                           // [num_reqs]
  CausalConv1dMetadata conv1d{};                                 // of the prefill rows
};

// The same for Mamba2 layers, with the chunks of the SSD scan (semantics: compute-chunk-metadata).
struct Mamba2Metadata {
  MambaMetadata base{};
  bool prep_initial_states = false;  // some prefill row starts from a stored state
  std::int32_t chunk_size = 0;
  TensorView<std::int32_t> seq_idx_p{};             // [chunks]
  TensorView<std::int32_t> cu_chunk_seqlen_p{};     // [chunks + 1]
  TensorView<std::int32_t> last_chunk_indices_p{};  // [num_prefills]
};

// dtype of the token index arrays of one GDN batch in the reference.
enum class TokenIndxDtype : std::uint8_t { int32, int64 };

// Metadata of one step for GatedDeltaNet (and KDA) layers of one KV-cache group: spec rows verify
// draft tokens, non-spec rows are decodes or prefills.
struct GdnMetadata {
  std::int32_t num_prefills = 0;
  std::int32_t num_prefill_tokens = 0;
  std::int32_t num_decodes = 0;
  std::int32_t num_decode_tokens = 0;
  std::int32_t num_spec_decodes = 0;
  std::int32_t num_spec_decode_tokens = 0;
  std::int32_t num_actual_tokens = 0;
  TensorView<std::uint8_t> has_initial_state{};              // bool [non-spec rows]
  TensorView<std::int32_t> spec_query_start_loc{};           // [num_spec_decodes + 1]
  TensorView<std::int32_t> non_spec_query_start_loc{};       // [non-spec rows + 1]
  TensorView<std::int32_t> spec_state_indices_tensor{};      // [num_spec_decodes, 1 + K]
  TensorView<std::int32_t> non_spec_state_indices_tensor{};  // [non-spec rows]
  TensorView<std::uint8_t> spec_sequence_masks{};            // bool [num_reqs]
  TensorView<std::int32_t> spec_token_indx{};                // [spec tokens]
  TensorView<std::int32_t> non_spec_token_indx{};            // [non-spec tokens]
  TokenIndxDtype token_indx_dtype = TokenIndxDtype::int32;   // int64 in a mixed batch
  TensorView<std::int32_t> num_accepted_tokens{};            // [num_spec_decodes]
  TensorView<std::int32_t> chunk_indices{};                  // [chunks, 2]
  TensorView<std::int32_t> chunk_offsets{};                  // [non-spec rows + 1], int64
  CausalConv1dMetadata conv1d{};                             // of the non-spec rows
};

}  // namespace hybridscope
