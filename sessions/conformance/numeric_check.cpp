#include "sessions/conformance/numeric_check.h"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "sessions/conformance/numeric_ops.h"

namespace hybridscope {
namespace {

// How much one operation in float32 may differ: in form chunked, and in form recurrent.
constexpr FloatTolerance kChunkedTolerance{.relative = 2e-5, .absolute = 2e-5, .error_ratio = 1e-5};
constexpr FloatTolerance kOperationTolerance{
    .relative = 2e-5, .absolute = 2e-6, .error_ratio = 2e-6};

using Tensor = std::vector<ComparedFloats>;

// What lies in blocks of these pools are copies of inputs, so that `expect` has their bits.
bool holds_copies(const std::string& pool) { return pool != "ssm_state" && pool != "kv_state"; }

class NumericComparison {
 public:
  NumericComparison(const JsonValue& vector, const NumericAnswer& answer,
                    const FloatTolerance& tolerance)
      : vector_(vector), answer_(answer), tolerance_(tolerance) {}

  std::optional<VectorDifference> in(const char* member, bool by_bits) const {
    const JsonValue expected = vector_[member];
    if (auto found = in_outputs(expected, by_bits)) return found;
    for (const auto& [name, pool] : answer_.pools)
      if (auto found = in_pool(expected, name, by_bits)) return found;
    return std::nullopt;
  }

 private:
  std::optional<VectorDifference> compare(const Tensor& tensor, bool by_bits) const {
    if (by_bits) return differing_bits(tensor);
    return is_elementwise(vector_["op"].string()) ? differing_elements(tensor, tolerance_.relative)
                                                  : differing_values(tensor, tolerance_);
  }

  std::optional<VectorDifference> in_outputs(const JsonValue& expected, bool by_bits) const {
    const NumericTensor y = read_numeric_tensor(expected["y"]);
    if (y.data.size() != answer_.y.size())
      return VectorDifference{expected.pointer() + "/y", fmt::format("{} values", y.data.size()),
                              fmt::format("{} values", answer_.y.size())};
    const auto rows = static_cast<std::size_t>(y.size(0));
    const std::size_t width = rows == 0 ? 0 : y.data.size() / rows;
    const JsonValue tokens = vector_["compare_tokens"];
    const std::string place = expected.pointer() + "/y";
    Tensor tensor;
    for (const std::int32_t token : tokens.int32s()) {
      if (token < 0 || static_cast<std::size_t>(token) >= rows)
        tokens.fail(fmt::format("expected tokens below {}, found {}", rows, token));
      const std::size_t first = static_cast<std::size_t>(token) * width;
      tensor.push_back({fmt::format("{}/{}", place, token),
                        std::span<const float>(y.data).subspan(first, width),
                        std::span<const float>(answer_.y).subspan(first, width)});
    }
    return compare(tensor, by_bits);
  }

  std::optional<VectorDifference> in_pool(const JsonValue& expected, const std::string& name,
                                          bool by_bits) const {
    const NumericPool& after = answer_.pools.at(name);
    const NumericPool before = read_numeric_pool(vector_["input"][name]);
    const auto elements = static_cast<std::size_t>(after.block_elements());
    const JsonValue written = expected[name];
    const std::string place = written.pointer();
    std::map<std::int32_t, std::vector<float>> contents;
    Tensor named, untouched;
    for (std::int32_t block = 0; block < after.shape.front(); ++block) {
      const std::size_t first = static_cast<std::size_t>(block) * elements;
      ComparedFloats part{fmt::format("{}/{}", place, block),
                          std::span<const float>(before.data).subspan(first, elements),
                          std::span<const float>(after.data).subspan(first, elements)};
      const auto content = written.find_non_null(fmt::format("{}", block));
      if (content)
        part.expected = contents[block] =
            read_floats(*content, static_cast<std::int64_t>(elements));
      (content ? named : untouched).push_back(std::move(part));
    }
    if (auto found = differing_bits(untouched)) return found;
    return compare(named, by_bits || holds_copies(name));
  }

  const JsonValue& vector_;
  const NumericAnswer& answer_;
  FloatTolerance tolerance_;
};

}  // namespace

std::optional<VectorDifference> check_numeric(const NumericForms& forms,
                                              const nlohmann::json& vector,
                                              const NumericKernels& kernels) {
  const JsonValue top(vector);
  const NumericCase asked{
      .op = top["op"].string(), .config = top["config"], .input = top["input"], .kernels = kernels};
  const NumericAnswer answer = forms.recurrent(asked);
  const NumericComparison recurrent(top, answer, kOperationTolerance);
  if (auto found = recurrent.in("bits", true)) return found;
  if (auto found = recurrent.in("expect", false)) return found;
  if (forms.chunked == nullptr) return std::nullopt;
  const NumericAnswer in_chunks = forms.chunked(asked);
  return NumericComparison(top, in_chunks, kChunkedTolerance).in("expect", false);
}

namespace {

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

std::string words_of(float value) {
  return fmt::format("{} (bits {:08x})", value, std::bit_cast<std::uint32_t>(value));
}

VectorDifference differs_at(const ComparedFloats& part, std::size_t index) {
  return {fmt::format("{}/{}", part.place, index), words_of(part.expected[index]),
          words_of(part.got[index])};
}

double largest_value(std::span<const ComparedFloats> parts) {
  double largest = 1;
  for (const ComparedFloats& part : parts)
    for (const float value : part.expected)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

}  // namespace

std::optional<VectorDifference> differing_bits(std::span<const ComparedFloats> parts) {
  for (const ComparedFloats& part : parts)
    for (std::size_t i = 0; i < part.expected.size(); ++i)
      if (!same_bits(part.expected[i], part.got[i])) return differs_at(part, i);
  return std::nullopt;
}

std::optional<VectorDifference> differing_values(std::span<const ComparedFloats> parts,
                                                 const FloatTolerance& tolerance) {
  const double largest = largest_value(parts);
  double errors = 0;
  double squares = 0;
  std::size_t count = 0;
  for (const ComparedFloats& part : parts) {
    count += part.expected.size();
    for (std::size_t i = 0; i < part.expected.size(); ++i) {
      const double expected = part.expected[i];
      if (std::isfinite(expected)) squares += expected * expected;
      if (same_bits(part.expected[i], part.got[i])) continue;
      const double error = std::abs(part.got[i] - expected);
      if (!(error <= tolerance.absolute * largest + tolerance.relative * std::abs(expected)))
        return differs_at(part, i);
      errors += error * error;
    }
  }
  // Both root mean squares divide by the same number of values.
  const auto n = static_cast<double>(std::max<std::size_t>(count, 1));
  const double ratio = std::sqrt(errors / n) / (std::sqrt(squares / n) + 1e-8);
  if (tolerance.error_ratio == 0 || ratio <= tolerance.error_ratio) return std::nullopt;
  return VectorDifference{parts.front().place,
                          fmt::format("an error ratio of at most {}", tolerance.error_ratio),
                          fmt::format("{:.3g}", ratio)};
}

std::optional<VectorDifference> differing_elements(std::span<const ComparedFloats> parts,
                                                   double relative) {
  constexpr double smallest_normal = std::numeric_limits<float>::min();
  for (const ComparedFloats& part : parts)
    for (std::size_t i = 0; i < part.expected.size(); ++i) {
      if (same_bits(part.expected[i], part.got[i])) continue;
      const double expected = part.expected[i];
      if (!(std::abs(part.got[i] - expected) <= relative * std::abs(expected) + smallest_normal))
        return differs_at(part, i);
    }
  return std::nullopt;
}

}  // namespace hybridscope
