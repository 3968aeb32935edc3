// Attention backends, as far as CUDA graphs tell them apart (semantics: resolve-cudagraph-mode).
#pragma once

#include <cstdint>

#include "core/metadata/cudagraph_mode.h"

namespace hybridscope {

enum class AttentionBackend : std::uint8_t { flash_attn_3, flash_attn_2, triton, flex };

// What the backend's metadata builder can do in a full graph.
constexpr AttentionCGSupport cg_support(AttentionBackend backend) {
  return backend == AttentionBackend::flash_attn_2 ? AttentionCGSupport::uniform_batch
                                                   : AttentionCGSupport::always;
}

}  // namespace hybridscope
