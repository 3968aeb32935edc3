// Arguments of the kernels with their arrays on the device. Not for other folders: it includes
// CUDA's headers.
#pragma once

#include "core/numeric/dense_layers.h"
#include "core/numeric/paged_attention.h"
#include "kernels/numeric/chunked_cuda.h"
#include "kernels/numeric/conv_cuda.h"
#include "kernels/numeric/recurrences_cuda.h"
#include "kernels/numeric/staged_call.h"

namespace hybridscope {

inline DecodeRows staged(StagedCall& call, DecodeRows rows) {
  rows.state_indices = call.in(rows.state_indices);
  rows.query_start_loc = call.in(rows.query_start_loc);
  rows.num_accepted_tokens = call.in(rows.num_accepted_tokens);
  rows.source_column = call.in(rows.source_column);
  rows.destination_column = call.in(rows.destination_column);
  rows.conv_source_column = call.in(rows.conv_source_column);
  return rows;
}

inline PrefillRows staged(StagedCall& call, PrefillRows rows) {
  rows.query_start_loc = call.in(rows.query_start_loc);
  rows.has_initial_states = call.in(rows.has_initial_states);
  rows.state_indices = call.in(rows.state_indices);
  rows.block_idx_first_scheduled_token = call.in(rows.block_idx_first_scheduled_token);
  rows.block_idx_last_scheduled_token = call.in(rows.block_idx_last_scheduled_token);
  rows.block_idx_last_computed_token = call.in(rows.block_idx_last_computed_token);
  rows.num_computed_tokens = call.in(rows.num_computed_tokens);
  rows.checkpoint_offsets = call.in(rows.checkpoint_offsets);
  rows.checkpoint_blocks = call.in(rows.checkpoint_blocks);
  return rows;
}

inline Mamba2Chunks staged(StagedCall& call, Mamba2Chunks chunks) {
  chunks.cu_chunk_seqlen = call.in(chunks.cu_chunk_seqlen);
  chunks.seq_idx = call.in(chunks.seq_idx);
  chunks.last_chunk_indices = call.in(chunks.last_chunk_indices);
  return chunks;
}

inline AttentionRows staged(StagedCall& call, AttentionRows rows) {
  rows.query_start_loc = call.in(rows.query_start_loc);
  rows.seq_lens = call.in(rows.seq_lens);
  rows.block_table = call.in(rows.block_table);
  return rows;
}

template <class Pool>
Pool staged_pool(StagedCall& call, Pool pool) {
  pool.data = call.in_out(pool.data);
  return pool;
}
inline StatePool staged(StagedCall& call, const StatePool& pool) { return staged_pool(call, pool); }
inline Bf16StatePool staged(StagedCall& call, const Bf16StatePool& pool) {
  return staged_pool(call, pool);
}
inline KvCache staged(StagedCall& call, const KvCache& cache) {
  return {.keys = call.in_out(cache.keys), .values = call.in_out(cache.values)};
}

inline ConvLayer staged(StagedCall& call, ConvLayer layer) {
  layer.weight = call.in(layer.weight);
  layer.bias = call.in(layer.bias);
  return layer;
}
inline Mamba1Layer staged(StagedCall& call, Mamba1Layer layer) {
  layer.A_log = call.in(layer.A_log);
  layer.D = call.in(layer.D);
  layer.dt_bias = call.in(layer.dt_bias);
  return layer;
}
inline Mamba2Layer staged(StagedCall& call, Mamba2Layer layer) {
  layer.A_log = call.in(layer.A_log);
  layer.D = call.in(layer.D);
  layer.dt_bias = call.in(layer.dt_bias);
  return layer;
}
inline DeltaRuleLayer staged(StagedCall& call, DeltaRuleLayer layer) {
  layer.A_log = call.in(layer.A_log);
  layer.dt_bias = call.in(layer.dt_bias);
  return layer;
}
inline LightningLayer staged(StagedCall& call, LightningLayer layer) {
  layer.rate = call.in(layer.rate);
  return layer;
}
inline AttentionLayer staged(StagedCall&, const AttentionLayer& layer) { return layer; }
inline RmsNorm staged(StagedCall& call, RmsNorm norm) {
  norm.weight = call.in(norm.weight);
  return norm;
}
inline GatedMlp staged(StagedCall& call, GatedMlp mlp) {
  mlp.gate = call.in(mlp.gate);
  mlp.up = call.in(mlp.up);
  mlp.down = call.in(mlp.down);
  return mlp;
}

inline ConvTokens staged(StagedCall& call, const ConvTokens& io) {
  return {.x = call.in(io.x), .y = call.in_out(io.y), .in_front = call.in(io.in_front)};
}
inline Bf16ConvTokens staged(StagedCall& call, const Bf16ConvTokens& io) {
  return {.x = call.in(io.x), .y = call.in_out(io.y)};
}
inline ShortConvTokens staged(StagedCall& call, const ShortConvTokens& io) {
  return {.BCx = call.in(io.BCx), .y = call.in_out(io.y), .in_front = call.in(io.in_front)};
}
inline Mamba1Tokens staged(StagedCall& call, const Mamba1Tokens& io) {
  return {.x = call.in(io.x),
          .delta = call.in(io.delta),
          .B = call.in(io.B),
          .C = call.in(io.C),
          .z = call.in(io.z),
          .y = call.in_out(io.y)};
}
inline Mamba2Tokens staged(StagedCall& call, const Mamba2Tokens& io) {
  return {.x = call.in(io.x),
          .dt = call.in(io.dt),
          .B = call.in(io.B),
          .C = call.in(io.C),
          .y = call.in_out(io.y)};
}
inline DeltaRuleTokens staged(StagedCall& call, const DeltaRuleTokens& io) {
  return {.q = call.in(io.q),
          .k = call.in(io.k),
          .v = call.in(io.v),
          .a = call.in(io.a),
          .b = call.in(io.b),
          .o = call.in_out(io.o)};
}
inline LightningTokens staged(StagedCall& call, const LightningTokens& io) {
  return {.q = call.in(io.q), .k = call.in(io.k), .v = call.in(io.v), .o = call.in_out(io.o)};
}
inline AttentionTokens staged(StagedCall& call, const AttentionTokens& io) {
  return {.q = call.in(io.q), .k = call.in(io.k), .v = call.in(io.v), .o = call.in_out(io.o)};
}

}  // namespace hybridscope
