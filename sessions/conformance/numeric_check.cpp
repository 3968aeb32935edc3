#include "sessions/conformance/numeric_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "sessions/conformance/numeric_compare.h"
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

}  // namespace hybridscope
