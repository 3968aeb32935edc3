// Hands out a model's tensors by name and checks each; what nobody took is an error at the end.
// Only for load_model.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/numeric/hybrid_model.h"
#include "sessions/weights/safetensors.h"

namespace hybridscope {

class TensorTaker {
 public:
  // Values go to `model`, which keeps them. Both must outlive it.
  TensorTaker(const Safetensors& stored, HybridModel& model) : stored_(stored), model_(model) {}

  // The values of a tensor of this shape; after an error, zeros.
  std::span<const float> take(const std::string& name, const std::vector<std::int64_t>& shape);
  // weight [outputs, inputs] and, if it has one, bias [outputs] of NAME.weight and NAME.bias.
  struct LinearShape {
    std::int32_t outputs = 0;
    std::int32_t inputs = 0;
    bool bias = false;
  };
  Linear linear(const std::string& name, const LinearShape& shape);
  // A tensor [rows, inputs], made of the rows of another one in the order that `rows` gives.
  std::span<const float> rows_of(std::span<const float> tensor, std::int32_t inputs,
                                 const std::vector<std::int32_t>& rows);
  // Tensors whose names begin so are none of the language model's.
  void ignore(std::string prefix) { ignored_.push_back(std::move(prefix)); }
  void ignore_if_there(const std::string& name) { taken_.insert(name); }

  // The first error, or the first tensor that was not taken.
  std::optional<Error> error() const;

 private:
  std::span<const float> keep(std::vector<float> values);
  void fail(Error error);
  bool is_ignored(const std::string& name) const;

  const Safetensors& stored_;
  HybridModel& model_;
  std::set<std::string> taken_;
  std::vector<std::string> ignored_;
  std::optional<Error> error_;
};

}  // namespace hybridscope
