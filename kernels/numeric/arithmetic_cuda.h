// The functions that all kernels of this folder are made of, by themselves; what holds for all
// functions is said in recurrences_cuda.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"

struct CUstream_st;

namespace hybridscope {

// exp_f32 and so on of core/numeric/arithmetic.h.
enum class NumericFunction : std::uint8_t { exp, softplus, sigma, silu };

Status apply_cuda(NumericFunction function, std::span<const float> x, std::span<float> y,
                  CUstream_st* stream);

// Ordered sums of the products of rows [rows, n], where `y` has a total for each row.
Status dots_cuda(std::span<const float> a, std::span<const float> b, std::span<float> y,
                 CUstream_st* stream);

// Adds to `*num_different` for how many of all floats a quick function of this folder differs from
// what it stands for.
Status compare_quick_functions_cuda(std::uint64_t* num_different, CUstream_st* stream);

}  // namespace hybridscope
