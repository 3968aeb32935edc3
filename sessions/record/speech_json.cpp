#include "sessions/record/speech_json.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;
using ReadJson = nlohmann::json;

constexpr std::int32_t kMostNumber = std::numeric_limits<std::int32_t>::max();

Json finite(double number) { return std::isfinite(number) ? Json(number) : Json(); }

Json chances_json(const std::vector<TokenChance>& chances) {
  Json list = Json::array();
  for (const TokenChance& chance : chances)
    list.push_back(Json::array({chance.id, finite(chance.probability)}));
  return list;
}

Json token_json(const StepWords::Token& said) {
  const SpokenToken& token = said.token;
  return Json::array({said.request.value, token.position, token.id, token.twin_id,
                      static_cast<int>(token.was_drafted), static_cast<int>(token.is_forced),
                      finite(token.margin), finite(token.divergence), chances_json(token.likely),
                      chances_json(token.twin_likely)});
}

Json state_json(const StateDifference& difference) {
  return Json::array({difference.request.value, difference.row, difference.group, difference.layer,
                      static_cast<int>(difference.kind), static_cast<int>(difference.is_read),
                      difference.block, difference.num_tokens, difference.first_element,
                      difference.num_elements, finite(difference.largest)});
}

template <class Items, class Make>
void add_list(Json& json, const char* name, const Items& items, Make make) {
  if (items.empty()) return;
  Json& list = json[name] = Json::array();
  for (const auto& item : items) list.push_back(make(item));
}

// Reads the values of one list, or of lists in it, in order.
class ListReader {
 public:
  ListReader(const JsonValue& list, std::string place) : place_(std::move(place)) {
    if (!list.is_array()) fail("expected a list");
    values_ = list.elements();
  }

  std::int64_t integer(std::int64_t least, std::int64_t most) {
    const JsonValue& value = next();
    const auto number = value.is_integer() ? value.whole() : std::nullopt;
    if (!number || *number < least || *number > most)
      fail(fmt::format("{}, expected a number from {} to {}", value.dump(), least, most));
    return *number;
  }
  std::int32_t below(std::int32_t end) { return static_cast<std::int32_t>(integer(0, end - 1)); }
  std::int32_t count() { return static_cast<std::int32_t>(integer(0, kMostNumber)); }
  bool flag() { return integer(0, 1) != 0; }
  double real() {
    const JsonValue& value = next();
    if (value.is_null()) return std::numeric_limits<double>::infinity();
    if (!value.is_number()) fail(fmt::format("{}, expected a number", value.dump()));
    return value.number();
  }
  // Calls take(reader) for each list in the next value.
  template <class Take>
  void lists(Take take) {
    each(next(), place_, take);
  }
  std::vector<std::int32_t> ids(std::int32_t vocab_size) {
    ListReader inner(next(), place_);
    std::vector<std::int32_t> ids;
    while (inner.next_ < inner.values_.size()) ids.push_back(inner.below(vocab_size));
    return ids;
  }
  template <class Take>
  static void each(const JsonValue& list, const std::string& place, Take take) {
    const ListReader all(list, place);
    for (const JsonValue& item : all.values_) {
      ListReader reader(item, place);
      take(reader);
    }
  }

 private:
  const JsonValue& next() {
    if (next_ >= values_.size()) fail("a value is missing");
    return values_[next_++];
  }
  [[noreturn]] void fail(const std::string& words) const {
    throw JsonFault("", place_ + ": " + words);
  }

  std::string place_;
  std::vector<JsonValue> values_;
  std::size_t next_ = 0;
};

std::vector<TokenChance> read_chances(ListReader& reader, std::int32_t vocab_size) {
  std::vector<TokenChance> chances;
  reader.lists([&](ListReader& inner) {
    const std::int32_t id = inner.below(vocab_size);
    chances.push_back({id, static_cast<float>(inner.real())});
  });
  return chances;
}

SpokenToken read_token(ListReader& reader, std::int64_t step, std::int32_t vocab_size) {
  SpokenToken token{.step = step};
  token.position = reader.count();
  token.id = reader.below(vocab_size);
  token.twin_id = reader.below(vocab_size);
  token.was_drafted = reader.flag();
  token.is_forced = reader.flag();
  token.margin = static_cast<float>(reader.real());
  token.divergence = reader.real();
  token.likely = read_chances(reader, vocab_size);
  token.twin_likely = read_chances(reader, vocab_size);
  return token;
}

StateDifference read_state(ListReader& reader, std::int64_t step, const SpeechLimits& limits) {
  StateDifference difference{.step = step, .request = RequestId{reader.below(limits.num_requests)}};
  difference.row = reader.count();
  difference.group = reader.below(limits.num_groups);
  difference.layer = reader.below(limits.num_layers);
  difference.kind = static_cast<StateKind>(reader.integer(0, 1));
  difference.is_read = reader.flag();
  difference.block = reader.below(limits.num_blocks);
  difference.num_tokens = reader.count();
  difference.first_element = reader.integer(0, std::numeric_limits<std::int64_t>::max());
  difference.num_elements = reader.integer(0, std::numeric_limits<std::int64_t>::max());
  difference.largest = reader.real();
  return difference;
}

void read_lists(const JsonValue& object, const SpeechLimits& limits, StepSpeech& speech) {
  const auto each = [&](const char* name, auto take) {
    if (const auto found = object.find(name))
      ListReader::each(*found, std::string("speech/") + name, take);
  };
  const auto request = [&limits](ListReader& reader) {
    return RequestId{reader.below(limits.num_requests)};
  };
  each("prompts", [&](ListReader& reader) {
    const RequestId of = request(reader);
    speech.words.prompts.push_back({of, reader.ids(limits.vocab_size)});
  });
  each("tokens", [&](ListReader& reader) {
    const RequestId of = request(reader);
    speech.words.tokens.push_back({of, read_token(reader, speech.step, limits.vocab_size)});
  });
  each("rejected", [&](ListReader& reader) {
    const RequestId of = request(reader);
    const std::int32_t position = reader.count();
    speech.words.rejected.push_back({of, {speech.step, position, reader.below(limits.vocab_size)}});
  });
  each("taken", [&](ListReader& reader) {
    const RequestId of = request(reader);
    speech.words.taken.push_back(
        {of, static_cast<std::int32_t>(reader.integer(-kMostNumber, kMostNumber))});
  });
  each("alone", [&](ListReader& reader) {
    const RequestId of = request(reader);
    speech.words.alone.push_back({of, reader.ids(limits.vocab_size)});
  });
  each("compared", [&](ListReader& reader) {
    ComparedState compared{.request = request(reader)};
    compared.group = reader.below(limits.num_groups);
    compared.block = reader.below(limits.num_blocks);
    compared.kind = static_cast<StateKind>(reader.integer(0, 1));
    compared.is_read = reader.flag();
    speech.compared.push_back(compared);
  });
  each("states", [&](ListReader& reader) {
    speech.states.push_back(read_state(reader, speech.step, limits));
  });
}

Error damaged(const std::string& words) { return {ErrorKind::corrupt, words}; }

}  // namespace

Json speech_info_to_json(const SpeechInfo& info) {
  Json layers = Json::array();
  for (const SpeechLayer& layer : info.layers)
    layers.push_back(Json::array({layer.group, layer.kind}));
  return {{"weights", info.weights},
          {"form", numeric_form_name(info.form)},
          {"vocab_size", info.vocab_size},
          {"layers", std::move(layers)}};
}

Result<SpeechInfo> read_speech_info(const ReadJson& json) {
  const auto bad = [](const char* key) {
    return damaged(fmt::format("language model: \"{}\" is missing or impossible", key));
  };
  if (!json.is_object()) return damaged("language model: expected an object");
  const auto found = [&json](const char* key) { return json.value(key, ReadJson()); };
  SpeechInfo info;
  if (!found("weights").is_string()) return bad("weights");
  info.weights = found("weights").get<std::string>();
  const ReadJson form = found("form");
  const auto known = form.is_string() ? parse_numeric_form(form.get<std::string>()) : std::nullopt;
  if (!known) return bad("form");
  info.form = *known;
  const ReadJson vocab_size = found("vocab_size");
  if (!vocab_size.is_number_integer() || vocab_size < 1 || vocab_size > kMostNumber)
    return bad("vocab_size");
  info.vocab_size = vocab_size.get<std::int32_t>();
  const ReadJson layers = found("layers");
  if (!layers.is_array()) return bad("layers");
  for (const ReadJson& layer : layers) {
    if (!layer.is_array() || layer.size() != 2 || !layer[0].is_number_integer() || layer[0] < 0 ||
        layer[0] > kMostNumber || !layer[1].is_string())
      return bad("layers");
    info.layers.push_back(
        {layer[0].get<std::int32_t>(), layer[1].get<std::string>(), layer[1] != "attention"});
  }
  return info;
}

std::string speech_info_text(const SpeechInfo* info) {
  return info == nullptr ? std::string() : speech_info_to_json(*info).dump();
}

Result<SpeechInfo> read_speech_info_text(std::string_view text) {
  const ReadJson json = ReadJson::parse(text, nullptr, false);
  if (json.is_discarded()) return damaged("language model: no JSON");
  return read_speech_info(json);
}

bool is_silent(const StepSpeech& speech) {
  return speech.words == StepWords() && speech.compared.empty() && speech.states.empty();
}

Json speech_to_json(const StepSpeech& speech) {
  Json json = Json::object();
  const auto of_ids = [](const auto& item) {
    return Json::array({item.request.value, Json(item.ids)});
  };
  add_list(json, "prompts", speech.words.prompts, of_ids);
  add_list(json, "tokens", speech.words.tokens, token_json);
  add_list(json, "rejected", speech.words.rejected, [](const StepWords::Draft& rejected) {
    return Json::array({rejected.request.value, rejected.draft.position, rejected.draft.id});
  });
  add_list(json, "taken", speech.words.taken, [](const StepWords::Taken& taken) {
    return Json::array({taken.request.value, taken.num_tokens});
  });
  add_list(json, "alone", speech.words.alone, of_ids);
  add_list(json, "compared", speech.compared, [](const ComparedState& compared) {
    return Json::array({compared.request.value, compared.group, compared.block,
                        static_cast<int>(compared.kind), static_cast<int>(compared.is_read)});
  });
  add_list(json, "states", speech.states, state_json);
  return json;
}

Result<StepSpeech> read_speech(const ReadJson& json, std::int64_t step,
                               const SpeechLimits& limits) {
  StepSpeech speech{.step = step};
  if (!json.is_object()) return damaged("speech: expected an object");
  try {
    read_lists(JsonValue(json), limits, speech);
  } catch (const JsonFault& fault) {
    return damaged(fault.what());
  }
  return speech;
}

Result<StepSpeech> read_speech_text(std::string_view text, std::int64_t step,
                                    const SpeechLimits& limits) {
  const ReadJson json = ReadJson::parse(text, nullptr, false);
  if (json.is_discarded()) return damaged("speech: no JSON");
  return read_speech(json, step, limits);
}

}  // namespace hybridscope
