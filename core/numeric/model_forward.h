// The forward pass of a hybrid model over a batch: every layer reads what its group's metadata says
// and the blocks of its memory, nothing else (numerics: which array says what).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numeric/hybrid_model.h"
#include "core/numeric/recurrences.h"
#include "core/numeric/state_rows.h"

namespace hybridscope {

// Rows whose tokens stand together: rows count them from 0, `tokens` says which of the batch each
// is.
struct DecodePart {
  DecodeRows rows;
  std::vector<std::int32_t> tokens;  // [tokens of the part]
  // The tokens whose gates the gathered tokens take; empty: their own (known bug 15).
  std::vector<std::int32_t> gate_tokens{};
  std::int32_t rolled_tokens = 0;  // ConvLayer::rolled_tokens
};
struct PrefillPart {
  PrefillRows rows;
  std::vector<std::int32_t> tokens;
  bool prep_initial_states = true;          // false: no row reads an initial state (Mamba2)
  bool stores_boundaries_by_piece = false;  // ConvLayer's
  // Form chunked: where rows are cut, once as each kernel is told it; else empty.
  std::vector<RowChunk> row_chunks{};
  Mamba2Chunks mamba2_chunks{};

  bool is_chunked() const { return !row_chunks.empty(); }
};

// One KV-cache group's rows: those of attention, or those of recurrent layers.
struct ForwardGroup {
  AttentionRows attention{};
  std::int32_t block_size = 0;  // tokens, of attention
  std::vector<DecodePart> decodes{};
  std::vector<PrefillPart> prefills{};
};

// The blocks of one layer; a pool that the layer does not have is empty.
struct LayerMemory {
  StatePool conv{};
  StatePool temporal{};
  KvCache kv{};
};

struct ForwardBatch {
  std::span<const std::int32_t> token_ids;       // [T] below vocab_size
  std::span<const std::int32_t> positions;       // [T]
  std::span<const ForwardGroup> groups;          // all groups
  std::span<const std::int32_t> group_of_layer;  // [layers]
  std::span<const LayerMemory> memory;           // [layers]
};

class ModelForward {
 public:
  // `model` must outlive it.
  explicit ModelForward(const HybridModel& model);

  // Runs all layers. Tokens that no row has give zeros out of every mixer.
  void run(const ForwardBatch& batch);
  // The logits of token t of the last batch: [vocab].
  void logits(std::int32_t token, std::span<float> out) const;

 private:
  // Sets normed_ for every token.
  void normalise(const RmsNorm& norm);

  const HybridModel& model_;
  RopeTable rope_;
  std::vector<float> hidden_;  // [T, hidden]
  std::vector<float> normed_;  // [T, hidden]
};

// What each kind of mixer does with a batch between its norm and the residual addition.

// y = linear(x) for every token of a batch; x: [T, inputs].
std::vector<float> apply_linear(const Linear& linear, std::span<const float> x,
                                std::size_t num_tokens);

struct MixerInputs {
  std::span<const float> x;  // [T, hidden] after the norm
  std::span<const std::int32_t> positions;
  const ForwardGroup& group;
  const LayerMemory& memory;
  std::size_t num_tokens() const { return positions.size(); }
};

// Each returns [T, hidden].
std::vector<float> run_mixer(const Mamba2Mixer& mixer, const MixerInputs& in);
std::vector<float> run_mixer(const GatedDeltaNetMixer& mixer, const MixerInputs& in);
std::vector<float> run_mixer(const ShortConvMixer& mixer, const MixerInputs& in);
std::vector<float> run_mixer(const AttentionMixer& mixer, const MixerInputs& in, RopeTable& rope);

}  // namespace hybridscope
