#include "sessions/traffic/sharegpt.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sessions/scenario/scenario.h"
#include "sessions/text/json_cutter.h"
#include "sessions/text/number_words.h"
#include "sessions/text/object_reader.h"
#include "sessions/traffic/conversation_history.h"

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

// The first of the members that is there; null: none is.
const nlohmann::json* first_member(const nlohmann::json& object,
                                   std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto found = object.find(key); found != object.end()) return &*found;
  return nullptr;
}

struct ShareGptMessage {
  ShareGptSpeaker speaker = ShareGptSpeaker::other;
  std::string text;
};

// {"from": "human", "value": "..."} or {"role": "user", "content": "..."}.
ShareGptMessage read_sharegpt_message(const JsonPlace& place, JsonErrors& errors) {
  ShareGptMessage message;
  if (!place.value->is_object()) {
    errors.fail(place.pointer,
                fmt::format("expected an object, found {}", describe_json(*place.value)));
    return message;
  }
  const nlohmann::json* from = first_member(*place.value, {"from", "role"});
  const nlohmann::json* value = first_member(*place.value, {"value", "content"});
  if (from == nullptr || value == nullptr) {
    errors.fail(place.pointer, "expected \"from\" and \"value\" (or \"role\" and \"content\")");
    return message;
  }
  message.speaker = sharegpt_speaker(read_string({from, place.pointer}, errors));
  if (!value->is_null()) message.text = read_string({value, place.pointer}, errors);
  return message;
}

class ShareGptReader {
 public:
  explicit ShareGptReader(TrafficInput input)
      : file_(input.file), cutter_(input.file, std::move(input.read)) {}

  Result<TrafficLog> read();

 private:
  Status add_conversation(const nlohmann::json& json);
  void add_notes();

  std::string file_;
  JsonCutter cutter_;
  TrafficLog log_;
  std::int32_t num_conversations_ = 0;
  std::int64_t num_without_answer_ = 0;  // conversations
};

Status ShareGptReader::add_conversation(const nlohmann::json& json) {
  const std::string here = fmt::format("{}:{}", file_, cutter_.line());
  JsonErrors errors(here);
  const nlohmann::json* messages =
      json.is_object() ? first_member(json, {"conversations", "conversation", "messages"})
                       : nullptr;
  if (messages == nullptr)
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: found {} (expected an object with \"conversations\")", here,
                             describe_json(json))};
  ConversationHistory history(num_conversations_++);
  const std::size_t before = log_.requests.size();
  bool asked = false;  // since the last answer
  for (const JsonPlace& place : read_array({messages, "/conversations"}, errors)) {
    const ShareGptMessage message = read_sharegpt_message(place, errors);
    if (errors.failed()) return Error{ErrorKind::corrupt, errors.error().message};
    const bool answers = message.speaker == ShareGptSpeaker::model && asked;
    asked = message.speaker == ShareGptSpeaker::user || (asked && !answers);
    if (!answers) {
      history.add_text(message.text);
      continue;
    }
    const std::int64_t tokens = std::min<std::int64_t>(
        std::max<std::int64_t>(tokens_of_text(message.text), 1), kMaxOutputTokens);
    if (message.text.empty()) ++log_.num_without_output;
    const std::size_t turn = log_.requests.size() - before + 1;
    if (Status asked_now =
            history.ask(log_, {.name = fmt::format("c{}.t{}", num_conversations_, turn),
                               .max_tokens = static_cast<std::int32_t>(tokens)});
        !asked_now.ok())
      return Error{ErrorKind::corrupt, fmt::format("{}: {}", here, asked_now.error().message)};
  }
  if (errors.failed()) return Error{ErrorKind::corrupt, errors.error().message};
  if (log_.requests.size() == before) ++num_without_answer_;
  return Ok{};
}

void ShareGptReader::add_notes() {
  if (num_without_answer_ > 0)
    log_.notes.push_back(fmt::format("left out because no user is answered: {} of {}",
                                     num_without_answer_,
                                     counted(num_conversations_, "conversation")));
  log_.notes.push_back(
      fmt::format("tokens are counted as bytes of text by {}, rounded up", kBytesOfAToken));
}

Result<TrafficLog> ShareGptReader::read() {
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

}  // namespace

bool is_sharegpt(std::string_view head) {
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  if (head.starts_with('[')) head.remove_prefix(1);
  return first_object_has_all(head, {"conversations"});
}

Result<TrafficLog> read_sharegpt(TrafficInput input) {
  return ShareGptReader(std::move(input)).read();
}

}  // namespace hybridscope
