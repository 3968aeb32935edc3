#include "sessions/conformance/numeric_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/numeric/hybrid_model.h"
#include "core/numeric/lone_run.h"
#include "sessions/weights/load_model.h"

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

namespace {

// How much logits and states of a whole model in float32 may differ.
constexpr FloatTolerance kModelTolerance{.relative = 0, .absolute = 1e-4};
constexpr double kMostOfKl = 1e-3;  // relative, and absolute below 1
constexpr std::int32_t kMostTokens = 4096;

using Rows = std::vector<std::vector<float>>;

class ModelVector {
 public:
  ModelVector(const nlohmann::json& vector, const HybridModel& model)
      : top_(vector), model_(model) {}

  std::optional<VectorDifference> check() const {
    const std::string what = top_["config"]["what"].string();
    if (what == "logits") return check_logits();
    if (what == "state") return check_state();
    if (what == "greedy") return check_greedy();
    if (what == "missing_tokens") return check_missing_tokens();
    top_["config"]["what"].fail("expected logits, state, greedy or missing_tokens");
  }

 private:
  std::vector<std::int32_t> tokens(const char* name) const {
    const JsonValue value = top_["input"][name];
    std::vector<std::int32_t> tokens = value.int32s();
    if (tokens.empty() || tokens.size() > kMostTokens)
      value.fail(fmt::format("expected 1 to {} tokens", kMostTokens));
    for (const std::int32_t token : tokens)
      if (token < 0 || token >= model_.vocab_size)
        value.fail(fmt::format("token {}, expected one below {}", token, model_.vocab_size));
    return tokens;
  }

  // Runs tokens in one pass; logits behind each.
  static Rows extend(LoneRun& run, std::span<const std::int32_t> tokens) {
    run.extend(tokens);
    Rows rows;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      rows.push_back(run.logits(static_cast<std::int32_t>(i)));
    return rows;
  }

  std::optional<VectorDifference> compare_rows(const JsonValue& expected, const Rows& rows,
                                               bool by_bits) const {
    const NumericTensor tensor = read_numeric_tensor(expected, 2);
    if (tensor.size(0) != static_cast<std::int32_t>(rows.size()) ||
        tensor.size(1) != model_.vocab_size)
      expected["shape"].fail(fmt::format("expected [{}, {}]", rows.size(), model_.vocab_size));
    const auto width = static_cast<std::size_t>(model_.vocab_size);
    const std::string place = expected.pointer();
    std::vector<ComparedFloats> parts;
    for (std::size_t i = 0; i < rows.size(); ++i)
      parts.push_back({fmt::format("{}/{}", place, i),
                       std::span<const float>(tensor.data).subspan(i * width, width), rows[i]});
    return by_bits ? differing_bits(parts) : differing_values(parts, kModelTolerance);
  }

  static std::optional<VectorDifference> compare_tokens(const JsonValue& expected,
                                                        std::span<const std::int32_t> got) {
    const std::vector<std::int32_t> tokens = expected.int32s();
    for (std::size_t i = 0; i < std::max(tokens.size(), got.size()); ++i)
      if (i >= tokens.size() || i >= got.size() || tokens[i] != got[i])
        return VectorDifference{fmt::format("{}/{}", expected.pointer(), i),
                                i < tokens.size() ? fmt::format("{}", tokens[i]) : "no token",
                                i < got.size() ? fmt::format("{}", got[i]) : "no token"};
    return std::nullopt;
  }

  static std::vector<std::int32_t> greedy_tokens(const Rows& rows) {
    std::vector<std::int32_t> tokens;
    for (const std::vector<float>& row : rows) tokens.push_back(greedy_token(row));
    return tokens;
  }

  std::optional<VectorDifference> check_logits() const {
    const std::vector<std::int32_t> prompt = tokens("prompt");
    LoneRun whole(model_);
    const Rows rows = extend(whole, prompt);
    if (auto found = compare_rows(top_["bits"]["logits"], rows, true)) return found;
    if (auto found = compare_rows(top_["expect"]["logits"], rows, false)) return found;
    if (auto found = compare_tokens(top_["expect"]["argmax"], greedy_tokens(rows))) return found;
    return compare_rows(top_["bits"]["logits"], in_pieces(prompt), true);
  }

  Rows in_pieces(std::span<const std::int32_t> prompt) const {
    const JsonValue split = top_["input"]["split"];
    LoneRun run(model_);
    Rows rows;
    std::size_t first = 0;
    for (const std::int32_t length : split.int32s()) {
      if (length < 1 || first + static_cast<std::size_t>(length) > prompt.size())
        split.fail(fmt::format("expected lengths from 1 that add up to {}", prompt.size()));
      const Rows piece = extend(run, prompt.subspan(first, static_cast<std::size_t>(length)));
      rows.insert(rows.end(), piece.begin(), piece.end());
      first += static_cast<std::size_t>(length);
    }
    if (first != prompt.size())
      split.fail(fmt::format("expected lengths that add up to {}", prompt.size()));
    return rows;
  }

  std::optional<VectorDifference> check_state() const {
    LoneRun run(model_);
    run.extend(tokens("prompt"));
    const std::vector<LayerStates> states = run.states();
    for (const bool by_bits : {true, false})
      for (const JsonValue& layer : top_[by_bits ? "bits" : "expect"]["layers"].elements())
        if (auto found = compare_states(layer, states, by_bits)) return found;
    return std::nullopt;
  }

  static std::optional<VectorDifference> compare_states(const JsonValue& layer,
                                                        const std::vector<LayerStates>& states,
                                                        bool by_bits) {
    const auto number = static_cast<std::size_t>(
        layer["layer"].int32({0, static_cast<std::int32_t>(states.size()) - 1}));
    for (const char* kind : {"conv", "temporal"}) {
      const auto value = layer.find_non_null(kind);
      const std::vector<float>& got =
          kind == std::string_view("conv") ? states[number].conv : states[number].temporal;
      if (!value) continue;
      const NumericTensor expected = read_numeric_tensor(*value);
      if (expected.data.size() != got.size())
        value->fail(fmt::format("expected {} values, found {}", got.size(), expected.data.size()));
      const ComparedFloats part{value->pointer(), expected.data, got};
      if (auto found =
              by_bits ? differing_bits({&part, 1}) : differing_values({&part, 1}, kModelTolerance))
        return found;
    }
    return std::nullopt;
  }

  std::optional<VectorDifference> check_greedy() const {
    LoneRun run(model_);
    const std::vector<std::int32_t> prompt = tokens("prompt");
    const std::int32_t most = top_["input"]["max_tokens"].int32({1, kMostTokens});
    std::vector<std::int32_t> made{greedy_token(extend(run, prompt).back())};
    while (static_cast<std::int32_t>(made.size()) < most)
      made.push_back(greedy_token(extend(run, {&made.back(), 1}).back()));
    return compare_tokens(top_["expect"]["tokens"], made);
  }

  std::optional<VectorDifference> check_missing_tokens() const {
    const std::vector<std::int32_t> prompt = tokens("prompt");
    const std::vector<std::int32_t> rest = tokens("rest");
    const auto count = static_cast<std::int32_t>(prompt.size());
    const std::int32_t missing = top_["input"]["missing"].int32({1, count - 1});
    LoneRun healthy(model_);
    healthy.extend(prompt);
    LoneRun shorter(model_);
    shorter.extend(std::span(prompt).first(static_cast<std::size_t>(count - missing)));
    LoneRun faulty(model_);
    faulty.extend(prompt);
    faulty.go_on_from(shorter.states(), count);
    const Rows right = extend(healthy, rest);
    const Rows wrong = extend(faulty, rest);
    const JsonValue expect = top_["expect"];
    if (auto found = compare_rows(expect["healthy_logits"], right, false)) return found;
    if (auto found = compare_rows(expect["logits"], wrong, false)) return found;
    if (auto found = compare_tokens(expect["healthy_argmax"], greedy_tokens(right))) return found;
    if (auto found = compare_tokens(expect["argmax"], greedy_tokens(wrong))) return found;
    const std::vector<JsonValue> kl = expect["kl"].elements();
    for (std::size_t i = 0; i < std::min(kl.size(), right.size()); ++i) {
      const double expected = kl[i].number();
      const double got = kl_divergence(right[i], wrong[i]);
      if (!(std::abs(got - expected) <= kMostOfKl * std::max(1.0, expected)))
        return VectorDifference{kl[i].pointer(), fmt::format("{}", expected),
                                fmt::format("{}", got)};
    }
    return std::nullopt;
  }

  JsonValue top_;
  const HybridModel& model_;
};

}  // namespace

std::optional<VectorDifference> check_model_vector(const nlohmann::json& vector,
                                                   const std::string& folder) {
  const JsonValue name = JsonValue(vector)["config"]["folder"];
  const auto loaded = load_model((std::filesystem::path(folder) / name.string()).string());
  if (!loaded) name.fail(loaded.error().message);
  return ModelVector(vector, loaded.value().model).check();
}

}  // namespace hybridscope
