#include "sessions/traffic/vllm_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sessions/scenario/scenario.h"
#include "sessions/text/json_cutter.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr const char* kInputLens = "input_lens";
constexpr const char* kOutputLens = "output_lens";
constexpr const char* kStartTimes = "start_times";
constexpr const char* kErrors = "errors";

// One array of the result: an element a request.
struct BenchArray {
  std::optional<nlohmann::json> json;
  int line = 1;
};

class VllmBenchReader {
 public:
  explicit VllmBenchReader(TrafficInput input)
      : file_(input.file), cutter_(input.file, std::move(input.read)) {}

  Result<TrafficLog> read();

 private:
  Error error_at(int line, const std::string& message) const {
    return {ErrorKind::corrupt, fmt::format("{}:{}: {}", file_, line, message)};
  }
  Status take_arrays();
  Status check_arrays() const;
  // Calls number_of(value) for each element.
  template <class NumberOf>
  Result<std::vector<std::int64_t>> numbers(const BenchArray& array, const char* key,
                                            NumberOf number_of) const;
  bool failed(std::size_t i) const;

  std::string file_;
  JsonCutter cutter_;
  BenchArray input_lens_, output_lens_, start_times_, errors_;
};

Status VllmBenchReader::take_arrays() {
  if (const auto entered = cutter_.enter(JsonCutter::Outermost::object); !entered.ok())
    return entered.error();
  for (;;) {
    const auto key = cutter_.next_key();
    if (!key.ok()) return key.error();
    if (!key.value()) return Ok{};
    BenchArray* array = nullptr;
    if (*key.value() == kInputLens) array = &input_lens_;
    if (*key.value() == kOutputLens) array = &output_lens_;
    if (*key.value() == kStartTimes) array = &start_times_;
    if (*key.value() == kErrors) array = &errors_;
    if (array == nullptr) {
      if (Status skipped = cutter_.skip_value(); !skipped.ok()) return skipped;
      continue;
    }
    auto value = cutter_.take_value();
    if (!value.ok()) return value.error();
    array->json = std::move(value).value();
    array->line = cutter_.line();
    if (!array->json->is_array())
      return error_at(array->line, fmt::format("/{}: expected an array, found {}", *key.value(),
                                               JsonValue(*array->json).describe()));
  }
}

Status VllmBenchReader::check_arrays() const {
  for (const auto& [array, key] :
       {std::pair{&input_lens_, kInputLens}, std::pair{&output_lens_, kOutputLens}})
    if (!array->json)
      return error_at(1, fmt::format("there is no \"{}\" (expected a result that vllm bench serve "
                                     "wrote with --save-result --save-detailed)",
                                     key));
  const std::size_t count = input_lens_.json->size();
  if (count == 0) return error_at(input_lens_.line, "/input_lens: no request");
  for (const auto& [array, key] :
       {std::pair{&output_lens_, kOutputLens}, std::pair{&start_times_, kStartTimes},
        std::pair{&errors_, kErrors}})
    if (array->json && array->json->size() != count)
      return error_at(array->line, fmt::format("/{}: found {} elements (expected {}, as {} has)",
                                               key, array->json->size(), count, kInputLens));
  return Ok{};
}

template <class NumberOf>
Result<std::vector<std::int64_t>> VllmBenchReader::numbers(const BenchArray& array, const char* key,
                                                           NumberOf number_of) const {
  const auto read_all = [&] {
    std::vector<std::int64_t> all;
    all.reserve(array.json->size());
    JsonValue(*array.json).each_element([&](const JsonValue& value) {
      all.push_back(number_of(value));
    });
    return all;
  };
  return read_json(
      fmt::format("{}:{}", file_, array.line),
      [&] { return read_json_at(fmt::format("/{}", key), read_all); }, ErrorKind::corrupt);
}

// Seconds of a clock that began at any time, in microseconds.
std::int64_t start_time_us(const JsonValue& value) {
  constexpr double kMost = 1e12;
  if (!value.is_number() || !(std::abs(value.number()) <= kMost))
    value.expected("a number of seconds");
  return std::llround(value.number() * static_cast<double>(kMillion));
}

bool VllmBenchReader::failed(std::size_t i) const {
  if (!errors_.json) return false;
  const nlohmann::json& error = (*errors_.json)[i];
  return error.is_string() && !error.get_ref<const std::string&>().empty();
}

Result<TrafficLog> VllmBenchReader::read() {
  if (Status taken = take_arrays(); !taken.ok()) return taken.error();
  if (Status checked = check_arrays(); !checked.ok()) return checked.error();
  const auto inputs = numbers(input_lens_, kInputLens, [](const JsonValue& value) {
    return value.int64({0, kMaxPromptTokens});
  });
  if (!inputs.ok()) return inputs.error();
  const auto outputs = numbers(output_lens_, kOutputLens, [](const JsonValue& value) {
    return value.int64({0, kMaxOutputTokens});
  });
  if (!outputs.ok()) return outputs.error();
  const auto times = start_times_.json ? numbers(start_times_, kStartTimes, start_time_us)
                                       : Result(std::vector<std::int64_t>());
  if (!times.ok()) return times.error();
  TrafficLog log;
  std::int64_t first_us = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < inputs.value().size(); ++i) {
    if (failed(i) || inputs.value()[i] == 0) continue;
    const std::string name = fmt::format("r{}", i + 1);
    const std::int64_t output = outputs.value()[i];
    if (output == 0) ++log.num_without_output;
    LoggedRequest logged{
        .request = {.name = name,
                    .prompt = {{.content = text_content(name),
                                .length = static_cast<std::int32_t>(inputs.value()[i])}},
                    .max_tokens = static_cast<std::int32_t>(std::max<std::int64_t>(output, 1)),
                    .key = request_key(name)},
        .conversation = static_cast<std::int32_t>(log.requests.size())};
    if (!times.value().empty()) {
      logged.arrival_us = times.value()[i];
      first_us = std::min(first_us, times.value()[i]);
      if (!log.requests.empty() && logged.arrival_us < log.requests.back().arrival_us)
        ++log.num_out_of_order;
    }
    log.requests.push_back(std::move(logged));
  }
  if (log.requests.empty()) return error_at(1, "no request that did not fail");
  for (LoggedRequest& logged : log.requests)
    if (logged.arrival_us) *logged.arrival_us -= first_us;
  if (log.requests.size() < inputs.value().size())
    log.notes.push_back(
        fmt::format("left out because they failed or have no prompt: {} of {}",
                    inputs.value().size() - log.requests.size(),
                    counted(static_cast<std::int64_t>(inputs.value().size()), "request")));
  log.notes.push_back("the file has no contents, so no prompt shares anything");
  return log;
}

}  // namespace

bool is_vllm_bench(std::string_view head) {
  return first_object_has_all(head, {"num_prompts", "model_id", "request_rate"});
}

Result<TrafficLog> read_vllm_bench(TrafficInput input) {
  return VllmBenchReader(std::move(input)).read();
}

}  // namespace hybridscope
