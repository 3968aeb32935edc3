// Formats that are one JSON document: conversations of ShareGPT, results of `vllm bench serve`.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sessions/scenario/scenario.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/number_words.h"
#include "sessions/traffic/load_traffic.h"
#include "sessions/traffic/traffic_formats.h"

namespace hybridscope {
namespace {

enum class ShareGptSpeaker : std::uint8_t { user, model, other };

ShareGptSpeaker sharegpt_speaker(std::string_view name) {
  constexpr std::array<std::string_view, 3> kUsers = {"human", "user", "tool"};
  constexpr std::array<std::string_view, 5> kModels = {"gpt", "assistant", "chatgpt", "bing",
                                                       "bard"};
  if (std::ranges::find(kUsers, name) != kUsers.end()) return ShareGptSpeaker::user;
  if (std::ranges::find(kModels, name) != kModels.end()) return ShareGptSpeaker::model;
  return ShareGptSpeaker::other;  // "system"
}

// The first of the members that is there.
std::optional<JsonValue> first_member(const JsonValue& object,
                                      std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const auto found = object.find(key)) return found;
  return std::nullopt;
}

struct ShareGptMessage {
  ShareGptSpeaker speaker = ShareGptSpeaker::other;
  std::string text;
};

// {"from": "human", "value": "..."} or {"role": "user", "content": "..."}.
ShareGptMessage read_sharegpt_message(const JsonValue& message) {
  if (!message.is_object()) message.expected("an object");
  const auto from = first_member(message, {"from", "role"});
  const auto value = first_member(message, {"value", "content"});
  if (!from || !value)
    message.fail("expected \"from\" and \"value\" (or \"role\" and \"content\")");
  const auto text = [&](const JsonValue& part) {
    if (!part.is_string())
      message.fail(fmt::format("expected a string, found {}", part.describe()));
    return part.string();
  };
  ShareGptMessage read{.speaker = sharegpt_speaker(text(*from))};
  if (!value->is_null()) read.text = text(*value);
  return read;
}

class ShareGptReader {
 public:
  explicit ShareGptReader(TrafficInput input)
      : file_(input.file), cutter_(input.file, std::move(input.read)) {}

  Result<TrafficLog> read() {
    if (const auto entered = cutter_.enter(JsonCutter::Outermost::array_or_lines); !entered.ok())
      return entered.error();
    for (;;) {
      const auto json = cutter_.next();
      if (!json.ok()) return json.error();
      if (!json.value()) break;
      if (Status added = add_conversation(*json.value()); !added.ok()) return added.error();
    }
    if (log_.requests.empty())
      return Error{
          ErrorKind::corrupt,
          fmt::format("{}:{}: no conversation in which a user is answered", file_, cutter_.line())};
    add_notes();
    return std::move(log_);
  }

 private:
  Status add_conversation(const nlohmann::json& json) {
    const std::string here = fmt::format("{}:{}", file_, cutter_.line());
    const JsonValue conversation(json);
    const auto messages = first_member(conversation, {"conversations", "conversation", "messages"});
    if (!messages)
      return Error{ErrorKind::corrupt,
                   fmt::format("{}: found {} (expected an object with \"conversations\")", here,
                               conversation.describe())};
    const auto add = [&] { return add_messages(JsonValue(messages->json()), here); };
    return read_json(
        here, [&] { return read_json_at("/conversations", add); }, ErrorKind::corrupt);
  }

  Status add_messages(const JsonValue& messages, const std::string& here) {
    ConversationHistory history(num_conversations_++);
    const std::size_t before = log_.requests.size();
    bool asked = false;  // since the last answer
    for (const JsonValue& value : messages.elements()) {
      const ShareGptMessage message = read_sharegpt_message(value);
      const bool answers = message.speaker == ShareGptSpeaker::model && asked;
      asked = message.speaker == ShareGptSpeaker::user || (asked && !answers);
      if (!answers) {
        history.add_text(message.text);
        continue;
      }
      const std::int64_t tokens =
          std::min<std::int64_t>(tokens_of_text(message.text), kMaxOutputTokens);
      const std::size_t turn = log_.requests.size() - before + 1;
      if (Status asked_now = history.ask(log_, fmt::format("c{}.t{}", num_conversations_, turn),
                                         static_cast<std::int32_t>(tokens));
          !asked_now.ok())
        return Error{ErrorKind::corrupt, fmt::format("{}: {}", here, asked_now.error().message)};
    }
    if (log_.requests.size() == before) ++num_without_answer_;
    return Ok{};
  }

  void add_notes() {
    if (num_without_answer_ > 0)
      log_.notes.push_back(fmt::format("left out because no user is answered: {} of {}",
                                       num_without_answer_,
                                       counted(num_conversations_, "conversation")));
    log_.notes.push_back(
        fmt::format("tokens are counted as bytes of text by {}, rounded up", kBytesOfAToken));
  }

  std::string file_;
  JsonCutter cutter_;
  TrafficLog log_;
  std::int32_t num_conversations_ = 0;
  std::int64_t num_without_answer_ = 0;  // conversations
};

}  // namespace

bool is_sharegpt(std::string_view head) {
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  if (head.starts_with('[')) head.remove_prefix(1);
  return first_object_has_all(head, {"conversations"});
}

Result<TrafficLog> read_sharegpt(TrafficInput input) {
  return ShareGptReader(std::move(input)).read();
}

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

// Seconds of a clock that began at any time, in microseconds.
std::int64_t start_time_us(const JsonValue& value) {
  constexpr double kMost = 1e12;
  if (!value.is_number() || !(std::abs(value.number()) <= kMost))
    value.expected("a number of seconds");
  return std::llround(value.number() * static_cast<double>(kMillion));
}

class VllmBenchReader {
 public:
  explicit VllmBenchReader(TrafficInput input)
      : file_(input.file), cutter_(input.file, std::move(input.read)) {}

  Result<TrafficLog> read() {
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
    for (std::size_t i = 0; i < inputs.value().size(); ++i) {
      if (failed(i) || inputs.value()[i] == 0) continue;
      const std::string name = fmt::format("r{}", i + 1);
      LoggedRequest logged{
          .request = {.name = name,
                      .prompt = {{.content = text_content(name),
                                  .length = static_cast<std::int32_t>(inputs.value()[i])}},
                      .max_tokens = static_cast<std::int32_t>(outputs.value()[i])},
          .conversation = static_cast<std::int32_t>(log.requests.size())};
      if (!times.value().empty()) logged.arrival_us = times.value()[i];
      if (Status added = add_logged(log, std::move(logged)); !added.ok())
        return error_at(1, added.error().message);
    }
    if (log.requests.empty()) return error_at(1, "no request that did not fail");
    count_from_earliest(log);
    if (log.requests.size() < inputs.value().size())
      log.notes.push_back(
          fmt::format("left out because they failed or have no prompt: {} of {}",
                      inputs.value().size() - log.requests.size(),
                      counted(static_cast<std::int64_t>(inputs.value().size()), "request")));
    log.notes.push_back("the file has no contents, so no prompt shares anything");
    return log;
  }

 private:
  Error error_at(int line, const std::string& message) const {
    return {ErrorKind::corrupt, fmt::format("{}:{}: {}", file_, line, message)};
  }
  Status take_arrays() {
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

  Status check_arrays() const {
    for (const auto& [array, key] :
         {std::pair{&input_lens_, kInputLens}, std::pair{&output_lens_, kOutputLens}})
      if (!array->json)
        return error_at(1, fmt::format("there is no \"{}\" (expected a result that vllm bench "
                                       "serve wrote with --save-result --save-detailed)",
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

  // Calls number_of(value) for each element.
  template <class NumberOf>
  Result<std::vector<std::int64_t>> numbers(const BenchArray& array, const char* key,
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
  bool failed(std::size_t i) const {
    if (!errors_.json) return false;
    const nlohmann::json& error = (*errors_.json)[i];
    return error.is_string() && !error.get_ref<const std::string&>().empty();
  }

  std::string file_;
  JsonCutter cutter_;
  BenchArray input_lens_, output_lens_, start_times_, errors_;
};

}  // namespace

bool is_vllm_bench(std::string_view head) {
  return first_object_has_all(head, {"num_prompts", "model_id", "request_rate"});
}

Result<TrafficLog> read_vllm_bench(TrafficInput input) {
  return VllmBenchReader(std::move(input)).read();
}

}  // namespace hybridscope
