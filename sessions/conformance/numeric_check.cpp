#include "sessions/conformance/numeric_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "sessions/conformance/numeric_ops.h"

namespace hybridscope {
namespace {

// Of one operation in float32, form recurrent.
constexpr double kRelative = 2e-5;
constexpr double kAbsolute = 2e-6;    // times the largest value, at least 1
constexpr double kErrorRatio = 2e-6;  // root mean square of the errors to that of the values

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

std::string words_of(float value) {
  return fmt::format("{} (bits {:08x})", value, std::bit_cast<std::uint32_t>(value));
}

VectorDifference differs_at(const std::string& place, std::size_t index, float expected,
                            float got) {
  return {fmt::format("{}/{}", place, index), words_of(expected), words_of(got)};
}

// Two stretches of equal length: a token's outputs, or a block.
struct Compared {
  std::string place;
  std::span<const float> expected;
  std::span<const float> got;
};
using Tensor = std::vector<Compared>;

std::optional<VectorDifference> differing_bits(const Tensor& tensor) {
  for (const Compared& part : tensor)
    for (std::size_t i = 0; i < part.expected.size(); ++i)
      if (!same_bits(part.expected[i], part.got[i]))
        return differs_at(part.place, i, part.expected[i], part.got[i]);
  return std::nullopt;
}

double largest_value(const Tensor& tensor) {
  double largest = 1;
  for (const Compared& part : tensor)
    for (const float value : part.expected)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

std::optional<VectorDifference> differing_values(const Tensor& tensor) {
  const double largest = largest_value(tensor);
  double errors = 0;
  double squares = 0;
  for (const Compared& part : tensor)
    for (std::size_t i = 0; i < part.expected.size(); ++i) {
      const double expected = part.expected[i];
      if (std::isfinite(expected)) squares += expected * expected;
      if (same_bits(part.expected[i], part.got[i])) continue;
      const double error = std::abs(part.got[i] - expected);
      if (!(error <= kAbsolute * largest + kRelative * std::abs(expected)))
        return differs_at(part.place, i, part.expected[i], part.got[i]);
      errors += error * error;
    }
  // Both root mean squares divide by the same number of values.
  std::size_t count = 0;
  for (const Compared& part : tensor) count += part.expected.size();
  const auto n = static_cast<double>(std::max<std::size_t>(count, 1));
  const double ratio = std::sqrt(errors / n) / (std::sqrt(squares / n) + 1e-8);
  if (ratio <= kErrorRatio) return std::nullopt;
  return VectorDifference{tensor.front().place,
                          fmt::format("an error ratio of at most {}", kErrorRatio),
                          fmt::format("{:.3g}", ratio)};
}

// What lies in blocks of these pools are copies of inputs, so that `expect` has their bits.
bool holds_copies(const std::string& pool) { return pool != "ssm_state" && pool != "kv_state"; }

class NumericComparison {
 public:
  NumericComparison(const VectorValue& vector, const NumericAnswer& answer)
      : vector_(vector), answer_(answer) {}

  std::optional<VectorDifference> in(const char* member, bool by_bits) const {
    const VectorValue expected = vector_[member];
    if (auto found = in_outputs(expected, by_bits)) return found;
    for (const auto& [name, pool] : answer_.pools)
      if (auto found = in_pool(expected, name, by_bits)) return found;
    return std::nullopt;
  }

 private:
  static std::optional<VectorDifference> compare(const Tensor& tensor, bool by_bits) {
    return by_bits ? differing_bits(tensor) : differing_values(tensor);
  }

  std::optional<VectorDifference> in_outputs(const VectorValue& expected, bool by_bits) const {
    const NumericTensor y = read_numeric_tensor(expected["y"]);
    if (y.data.size() != answer_.y.size())
      return VectorDifference{expected.pointer() + "/y", fmt::format("{} values", y.data.size()),
                              fmt::format("{} values", answer_.y.size())};
    const auto rows = static_cast<std::size_t>(y.size(0));
    const std::size_t width = rows == 0 ? 0 : y.data.size() / rows;
    const VectorValue tokens = vector_["compare_tokens"];
    Tensor tensor;
    for (const std::int32_t token : tokens.int32s()) {
      if (token < 0 || static_cast<std::size_t>(token) >= rows)
        tokens.fail(fmt::format("expected tokens below {}, found {}", rows, token));
      const std::size_t first = static_cast<std::size_t>(token) * width;
      tensor.push_back({fmt::format("{}/y/{}", expected.pointer(), token),
                        std::span<const float>(y.data).subspan(first, width),
                        std::span<const float>(answer_.y).subspan(first, width)});
    }
    return compare(tensor, by_bits);
  }

  std::optional<VectorDifference> in_pool(const VectorValue& expected, const std::string& name,
                                          bool by_bits) const {
    const NumericPool& after = answer_.pools.at(name);
    const NumericPool before = read_numeric_pool(vector_["input"][name]);
    const auto elements = static_cast<std::size_t>(after.block_elements());
    const VectorValue written = expected[name];
    std::map<std::int32_t, std::vector<float>> contents;
    Tensor named, untouched;
    for (std::int32_t block = 0; block < after.shape.front(); ++block) {
      const std::size_t first = static_cast<std::size_t>(block) * elements;
      Compared part{fmt::format("{}/{}/{}", expected.pointer(), name, block),
                    std::span<const float>(before.data).subspan(first, elements),
                    std::span<const float>(after.data).subspan(first, elements)};
      const auto content = written.find(fmt::format("{}", block));
      if (content)
        part.expected = contents[block] =
            read_floats(*content, static_cast<std::int64_t>(elements));
      (content ? named : untouched).push_back(std::move(part));
    }
    if (auto found = differing_bits(untouched)) return found;
    return compare(named, by_bits || holds_copies(name));
  }

  const VectorValue& vector_;
  const NumericAnswer& answer_;
};

}  // namespace

std::optional<VectorDifference> check_numeric(NumericOp op, const nlohmann::json& vector) {
  const VectorValue top(vector, "");
  const NumericAnswer answer =
      op({.op = top["op"].string(), .config = top["config"], .input = top["input"]});
  const NumericComparison comparison(top, answer);
  if (auto found = comparison.in("bits", true)) return found;
  return comparison.in("expect", false);
}

}  // namespace hybridscope
