#include "sessions/weights/tensor_taker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hybridscope {

void TensorTaker::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

std::span<const float> TensorTaker::keep(std::vector<float> values) {
  model_.tensors.push_back(std::move(values));
  return model_.tensors.back();
}

std::span<const float> TensorTaker::take(const std::string& name,
                                         const std::vector<std::int64_t>& shape) {
  taken_.insert(name);
  const StoredTensor* tensor = stored_.find(name);
  if (error_) return keep({});
  if (tensor == nullptr) {
    fail(invalid_input(fmt::format("{}: tensor \"{}\" is missing, expected one of shape {}",
                                   stored_.file(), name, shape_words(shape))));
    return keep({});
  }
  if (tensor->shape != shape) {
    fail(invalid_input(fmt::format("{}: tensor \"{}\" has shape {}, expected {}", tensor->file,
                                   name, shape_words(tensor->shape), shape_words(shape))));
    return keep({});
  }
  auto values = tensor_values(name, *tensor);
  if (!values) {
    fail(values.error());
    return keep({});
  }
  return keep(std::move(values).value());
}

Linear TensorTaker::linear(const std::string& name, const LinearShape& shape) {
  Linear linear{.weight = take(name + ".weight", {shape.outputs, shape.inputs}),
                .outputs = shape.outputs};
  if (shape.bias) linear.bias = take(name + ".bias", {shape.outputs});
  return linear;
}

std::span<const float> TensorTaker::rows_of(std::span<const float> tensor, std::int32_t inputs,
                                            const std::vector<std::int32_t>& rows) {
  std::vector<float> values;
  const auto width = static_cast<std::size_t>(inputs);
  if (error_) return keep({});
  for (const std::int32_t row : rows) {
    const auto from = tensor.subspan(static_cast<std::size_t>(row) * width, width);
    values.insert(values.end(), from.begin(), from.end());
  }
  return keep(std::move(values));
}

bool TensorTaker::is_ignored(const std::string& name) const {
  return std::ranges::any_of(ignored_,
                             [&](const std::string& prefix) { return name.starts_with(prefix); });
}

std::optional<Error> TensorTaker::error() const {
  if (error_) return error_;
  for (const auto& [name, tensor] : stored_.tensors())
    if (!taken_.contains(name) && !is_ignored(name))
      return invalid_input(fmt::format("{}: tensor \"{}\" of shape {} is none of the model's",
                                       tensor.file, name, shape_words(tensor.shape)));
  return std::nullopt;
}

}  // namespace hybridscope
