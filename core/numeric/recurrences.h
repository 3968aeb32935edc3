// What recurrent layers compute: the recurrences of Mamba1, Mamba2, lightning attention and the
// gated delta rule, token after token and, for two of them, chunk by chunk; and causal
// convolutions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/numeric/state_rows.h"

namespace hybridscope {

// The recurrence of Mamba1 layers (numerics: Mamba1; vLLM selective_scan_fn,
// selective_state_update).

// A block of the pool is [I, N].
struct Mamba1Layer {
  std::int32_t intermediate_size = 0;  // I, channels
  std::int32_t state_size = 0;         // N
  std::span<const float> A_log;        // [I, N]
  std::span<const float> D;            // [I]
  std::span<const float> dt_bias;      // [I]
};

struct Mamba1Tokens {
  std::span<const float> x;      // [tokens, I] after the convolution
  std::span<const float> delta;  // [tokens, I] as projected, without its bias
  std::span<const float> B;      // [tokens, N]
  std::span<const float> C;      // [tokens, N]
  std::span<const float> z;      // [tokens, I] gate
  std::span<float> y;            // [tokens, I] gated; outputs of tokens that no row has stay
};

void mamba1_update(const Mamba1Layer& layer, const DecodeRows& rows, const StatePool& pool,
                   const Mamba1Tokens& tokens);
void mamba1_prefill(const Mamba1Layer& layer, const PrefillRows& rows, const StatePool& pool,
                    const Mamba1Tokens& tokens);

// The recurrence of Mamba2 layers (numerics: Mamba2; vLLM selective_state_update,
// mamba_chunk_scan_combined_varlen).

// Head h uses group h / (H / G). A block of the pool is [H, P, N].
struct Mamba2Layer {
  std::int32_t num_heads = 0;      // H
  std::int32_t head_dim = 0;       // P
  std::int32_t state_size = 0;     // N
  std::int32_t num_groups = 0;     // G
  std::span<const float> A_log;    // [H]
  std::span<const float> D;        // [H]
  std::span<const float> dt_bias;  // [H]
  // The softplus of dt + dt_bias is kept inside; infinite: no limit.
  float dt_min = 0;
  float dt_max = 0;
  bool has_dt_limit = false;
};

struct Mamba2Tokens {
  std::span<const float> x;   // [tokens, H, P]
  std::span<const float> dt;  // [tokens, H] as projected
  std::span<const float> B;   // [tokens, G, N]
  std::span<const float> C;   // [tokens, G, N]
  std::span<float> y;         // [tokens, H, P]; outputs of tokens that no row has stay
};

void mamba2_update(const Mamba2Layer& layer, const DecodeRows& rows, const StatePool& pool,
                   const Mamba2Tokens& tokens);
// Form recurrent. `prep_initial_states` false: no row reads an initial state.
void mamba2_prefill(const Mamba2Layer& layer, const PrefillRows& rows, const StatePool& pool,
                    const Mamba2Tokens& tokens, bool prep_initial_states);

// The recurrence of lightning attention (numerics: lightning attention; vLLM
// linear_attention_decode, lightning_attention).

// A block of the pool is [H, D, D]; the first D is the key's.
struct LightningLayer {
  std::int32_t num_heads = 0;   // H
  std::int32_t head_dim = 0;    // D
  std::span<const float> rate;  // [H] decay rates, above 0
};

struct LightningTokens {
  std::span<const float> q, k, v;  // [tokens, H, D]
  std::span<float> o;              // [tokens, H, D]; outputs of tokens that no row has stay
};

void lightning_update(const LightningLayer& layer, const DecodeRows& rows, const StatePool& pool,
                      const LightningTokens& tokens);
// Form recurrent.
void lightning_prefill(const LightningLayer& layer, const PrefillRows& rows, const StatePool& pool,
                       const LightningTokens& tokens);

// The gated delta rule: layers of GatedDeltaNet, one decay a head, and of KDA, one a key channel
// (numerics: GatedDeltaNet, KDA; vLLM fused_recurrent_gated_delta_rule, chunk_gated_delta_rule,
// fused_sigmoid_gating_delta_rule_update).

enum class DecayOf : std::uint8_t { head, key_channel };

// Value head h uses key head h / (Hv / Hk). A block of the pool is [Hv, Dv, Dk].
struct DeltaRuleLayer {
  std::int32_t num_key_heads = 0;    // Hk
  std::int32_t num_value_heads = 0;  // Hv
  std::int32_t key_dim = 0;          // Dk
  std::int32_t value_dim = 0;        // Dv
  DecayOf decay_of = DecayOf::head;
  std::span<const float> A_log;    // [Hv]
  std::span<const float> dt_bias;  // [Hv], for key channels [Hv, Dk]
};

struct DeltaRuleTokens {
  std::span<const float> q;  // [tokens, Hk, Dk] not normalised
  std::span<const float> k;  // [tokens, Hk, Dk] not normalised
  std::span<const float> v;  // [tokens, Hv, Dv]
  std::span<const float> a;  // [tokens, Hv], for key channels [tokens, Hv, Dk]: of the decay
  std::span<const float> b;  // [tokens, Hv] before the sigmoid
  std::span<float> o;        // [tokens, Hv, Dv]; outputs of tokens that no row has stay
};

void delta_rule_update(const DeltaRuleLayer& layer, const DecodeRows& rows, const StatePool& pool,
                       const DeltaRuleTokens& tokens);
// Form recurrent.
void delta_rule_prefill(const DeltaRuleLayer& layer, const PrefillRows& rows, const StatePool& pool,
                        const DeltaRuleTokens& tokens);

// What both forms of the gated delta rule take of a layer. Only for recurrences.cpp and
// chunked.cpp.

class DeltaRuleSizes {
 protected:
  static constexpr float kEpsilon = 1e-6F;  // of the norms of queries and keys

  explicit DeltaRuleSizes(const DeltaRuleLayer& layer)
      : Hk_(static_cast<std::size_t>(layer.num_key_heads)),
        Hv_(static_cast<std::size_t>(layer.num_value_heads)),
        Dk_(static_cast<std::size_t>(layer.key_dim)),
        Dv_(static_cast<std::size_t>(layer.value_dim)),
        scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(layer.key_dim)))) {}

  std::size_t Hk_, Hv_, Dk_, Dv_;
  float scale_;  // of queries
};

// Causal depthwise convolution over the tokens of a row and the ones before them, which a conv
// block keeps (numerics: causal depthwise convolution; vLLM causal_conv1d_fn,
// causal_conv1d_update).

enum class ConvActivation : std::uint8_t { none, silu };

// Weights and layout of one convolution. A block of its pool is [state_len, dim]: tokens as they
// came in, oldest first.
struct ConvLayer {
  std::int32_t dim = 0;
  std::int32_t width = 0;         // W >= 2
  std::int32_t state_len = 0;     // W - 1 + drafts
  std::span<const float> weight;  // [dim, W]; column W - 1 multiplies the current token
  std::span<const float> bias{};  // [dim], or empty
  ConvActivation activation = ConvActivation::silu;
  // Known bug 47: decode rows with counts of fewer tokens roll their block as if they had so many;
  // 0: right.
  std::int32_t rolled_tokens = 0;
  // Known bug 58, mode all: the j-th boundary of a prompt row (j from 0) is stored only if the row
  // has a piece j + 1 of 8 tokens; what its window lacks in front is taken from the batch.
  bool stores_boundaries_by_piece = false;
};
inline constexpr std::int32_t kConvPieceTokens = 8;  // of a program of causal_conv1d_fn

// The layer's inputs and outputs [tokens, dim]; outputs of tokens that no row has stay.
struct ConvTokens {
  std::span<const float> x;
  std::span<float> y;
  // Known bug 58: [n, dim] the tokens in front of x in the batch, oldest first.
  std::span<const float> in_front{};
};

// Prompt rows: history is positions [0, W - 1) of the source, and the destination's become the last
// W - 1 tokens. Mode all: those of every boundary too.
void conv_prefill(const ConvLayer& layer, const PrefillRows& rows, const StatePool& pool,
                  const ConvTokens& tokens);

// Decode rows: with counts the history begins at position a - 1, and the row's tokens are appended
// behind the W - 2 that are kept; without, the last W - 1 tokens are kept.
void conv_update(const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
                 const ConvTokens& tokens);

// Form chunked: prompt rows computed chunk by chunk with matrix products, cut where the builders'
// chunk arrays say (numerics: two forms; Mamba2; GatedDeltaNet; vLLM
// mamba_chunk_scan_combined_varlen, chunk_gated_delta_rule). Other bits than form recurrent: within
// the tolerances. Form recurrent reads no chunk arrays: a wrong one shows only here.

// Physical chunk k is tokens [cu_chunk_seqlen[k], cu_chunk_seqlen[k + 1]) of row seq_idx[k]; what
// lies outside the tokens, or names no row, is left out.
struct Mamba2Chunks {
  std::span<const std::int32_t> cu_chunk_seqlen;     // [chunks + 1]
  std::span<const std::int32_t> seq_idx;             // [chunks]
  std::span<const std::int32_t> last_chunk_indices;  // [rows]
  std::int32_t chunk_size = 0;                       // tokens
};
// The column of mode all that chunk `chunk` of the row fills, if it ends a block; -1: none (vLLM
// mamba_mixer2.py, first_chunk and chunk_stride).
HS_HOST_DEVICE inline std::int32_t column_of_chunk(const PrefillRows& rows,
                                                   const Mamba2Chunks& chunks, std::int32_t row,
                                                   std::int32_t chunk) {
  const auto r = static_cast<std::size_t>(row);
  const std::int32_t stride = rows.mamba_block_size / chunks.chunk_size;
  if (stride < 1) return -1;
  const std::int32_t first_chunk = row == 0 ? 0 : chunks.last_chunk_indices[r - 1] + 1;
  const std::int32_t first =
      first_chunk + stride - 1 -
      rows.num_computed_tokens[r] % rows.mamba_block_size / chunks.chunk_size;
  if (chunk < first || (chunk - first) % stride != 0) return -1;
  const std::int32_t column = rows.block_idx_first_scheduled_token[r] + (chunk - first) / stride;
  return column < rows.block_idx_last_scheduled_token[r] && column < rows.state_indices.cols
             ? column
             : -1;
}

// Final states are those at the end of a row's last chunk. Mode all: states at block boundaries are
// those at the end of every (block size / chunk size)-th chunk of the row, as upstream takes them.
void mamba2_prefill_chunked(const Mamba2Layer& layer, const PrefillRows& rows,
                            const StatePool& pool, const Mamba2Tokens& tokens,
                            bool prep_initial_states, const Mamba2Chunks& chunks);

// Tokens [first, last) of a row, one after the other from the row's first token on.
struct RowChunk {
  std::int32_t row = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};
void delta_rule_prefill_chunked(const DeltaRuleLayer& layer, const PrefillRows& rows,
                                const StatePool& pool, const DeltaRuleTokens& tokens,
                                std::span<const RowChunk> chunks);

}  // namespace hybridscope
