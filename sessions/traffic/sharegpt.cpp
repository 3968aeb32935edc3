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
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"
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

  Result<TrafficLog> read();

 private:
  Status add_conversation(const nlohmann::json& json);
  Status add_messages(const JsonValue& messages, const std::string& here);
  void add_notes();

  std::string file_;
  JsonCutter cutter_;
  TrafficLog log_;
  std::int32_t num_conversations_ = 0;
  std::int64_t num_without_answer_ = 0;  // conversations
};

Status ShareGptReader::add_conversation(const nlohmann::json& json) {
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

Status ShareGptReader::add_messages(const JsonValue& messages, const std::string& here) {
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
