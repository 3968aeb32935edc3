// Attention of a batch's rows over keys and values in paged blocks (numerics: attention).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/host_device.h"
#include "core/base/tensor_view.h"

namespace hybridscope {

// Query head h uses key head h / (H / Hkv).
struct AttentionLayer {
  std::int32_t num_heads = 0;     // H
  std::int32_t num_kv_heads = 0;  // Hkv
  std::int32_t head_dim = 0;      // D
  std::int32_t block_size = 0;    // Ba, tokens
};

// Keys and values, each [blocks, Ba, Hkv, D]. Block 0 is never written.
struct KvCache {
  std::span<float> keys;
  std::span<float> values;
};

struct AttentionRows {
  std::span<const std::int32_t> query_start_loc;  // [rows + 1]
  std::span<const std::int32_t> seq_lens;         // [rows] computed tokens and the row's own
  TensorView<std::int32_t> block_table;           // [rows, columns]

  HS_HOST_DEVICE std::int32_t num_rows() const {
    return static_cast<std::int32_t>(seq_lens.size());
  }
  // The position of the row's token t; negative: the row has no tokens.
  std::int32_t position(std::int32_t row, std::int32_t t) const;
};

struct AttentionTokens {
  std::span<const float> q;  // [tokens, H, D] after norm and rope
  std::span<const float> k;  // [tokens, Hkv, D] after norm and rope
  std::span<const float> v;  // [tokens, Hkv, D]
  std::span<float> o;        // [tokens, H, D]; outputs of tokens that no row has stay
};

// All rows write their keys and values first; then each query attends to positions 0 to its own.
// Positions decide the order of every sum, not blocks. A slot in no block is not written; what lies
// there is read as it is.
void paged_attention(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                     const AttentionTokens& tokens);

}  // namespace hybridscope
