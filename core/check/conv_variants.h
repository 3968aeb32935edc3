// Conv windows as kernels with a known fault leave them (core/trace/step_trace.h: KernelVariants).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/check/check_context.h"
#include "core/check/execute_rows.h"
#include "core/check/symbolic_state.h"

namespace hybridscope {

using ConvWindow = std::array<Fingerprint, kMaxConvKernel>;  // its first W - 1 tokens, oldest first

// KernelVariants::stores_boundaries_by_piece: what the window at boundary `index` of the row takes
// for the history. Empty: it is not stored.
std::optional<ConvWindow> history_by_piece(const RowTruth& truth, std::int32_t row,
                                           std::size_t index, std::int32_t conv_kernel);

// KernelVariants::rolls_conv_by_window: the window rolls by 1 + K tokens although the row has
// fewer; the positions left at its end stay as they were.
void roll_by_window(const RowTruth& truth, const DecodeRow& row, const CheckConfig& config,
                    const ConvWindow& prior, std::span<Fingerprint> conv);

// Known bug 25: does the row's conv window reach past the end of its block's, into the temporal
// state behind it?
bool window_spills(const CheckConfig& config, const DecodeRow& row);

}  // namespace hybridscope
