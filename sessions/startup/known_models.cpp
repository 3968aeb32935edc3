#include "sessions/startup/known_models.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "sessions/startup/model_files.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

// Ends of names that say how weights are stored; the cache does not depend on it.
constexpr std::string_view kQuantised[] = {
    "fp8",      "fp8-dynamic", "fp4",       "nvfp4",   "mxfp4", "awq",   "awq-4bit",
    "awq-8bit", "gptq",        "gptq-int4", "int4",    "int8",  "w4a16", "w8a8",
    "bf16",     "gptq-int8",   "gguf",      "unsloth", "hf"};
// Ends of names of models with the same shapes, which a short name leaves out.
constexpr std::string_view kTrainings[] = {"instruct", "base", "thinking", "it",
                                           "chat",     "a3b",  "8k",       "128k"};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return lower;
}

bool remove_end(std::string& key, std::span<const std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) {
    if (!key.ends_with(end) || key.size() <= end.size() + 1) return false;
    if (key[key.size() - end.size() - 1] != '-') return false;
    key.resize(key.size() - end.size() - 1);
    return true;
  });
}

// "qwen3.5-27b" of "nvidia/Qwen3.5-27B-NVFP4".
std::string key_of(std::string_view name) {
  std::string key = lower_case(name.substr(name.find('/') + 1));
  while (remove_end(key, kQuantised)) {
  }
  return key;
}

std::string short_key(std::string key) {
  while (remove_end(key, kTrainings) || remove_end(key, kQuantised)) {
  }
  return key;
}

std::vector<KnownModel> read_models() {
  std::vector<KnownModel> models;
  for (const std::string_view file :
       {model_files::models_of_attention_json, model_files::models_of_mamba_json})
    for (const nlohmann::json& row : nlohmann::json::parse(file))
      models.push_back({.names = row.at("names").get<std::vector<std::string>>(),
                        .source = row.at("source"),
                        .date = row.at("date"),
                        .config = row.at("config").dump()});
  return models;
}

// The one model of which a name has this key; null: none or several.
template <class KeyOf>
const KnownModel* only_one(const std::string& key, KeyOf key_of_name) {
  const KnownModel* found = nullptr;
  for (const KnownModel& model : known_models()) {
    if (std::ranges::none_of(model.names,
                             [&](const std::string& name) { return key_of_name(name) == key; }))
      continue;
    if (found != nullptr && found->config != model.config) return nullptr;
    found = &model;
  }
  return found;
}

}  // namespace

std::span<const KnownModel> known_models() {
  static const std::vector<KnownModel> kModels = read_models();
  return kModels;
}

const KnownModel* find_known_model(std::string_view name) {
  const auto whole = [](std::string_view known) { return lower_case(known); };
  const auto last = [](std::string_view known) {
    return lower_case(known.substr(known.find('/') + 1));
  };
  if (const KnownModel* same = only_one(lower_case(name), whole)) return same;
  if (const KnownModel* same = only_one(last(name), last)) return same;
  if (const KnownModel* sibling = only_one(key_of(name), key_of)) return sibling;
  return only_one(short_key(key_of(name)),
                  [](std::string_view known) { return short_key(key_of(known)); });
}

namespace {

// "27b", "1.5b".
bool is_size(std::string_view piece) {
  return piece.size() > 1 && (piece.back() == 'b' || piece.back() == 'B') &&
         piece.find_first_not_of("0123456789.") == piece.size() - 1;
}

// The model of the longest run of a name's pieces, which stand between dashes.
const KnownModel* model_in_pieces(std::span<const std::string_view> pieces) {
  for (std::size_t count = pieces.size(); count > 1; --count)
    for (std::size_t first = 0; first + count <= pieces.size(); ++first) {
      std::string name;
      for (const std::string_view piece : pieces.subspan(first, count))
        name += (name.empty() ? "" : "-") + std::string(piece);
      const bool has_other_size = std::ranges::any_of(pieces.first(first), is_size) ||
                                  std::ranges::any_of(pieces.subspan(first + count), is_size);
      if (const KnownModel* known = find_known_model(name); known != nullptr && !has_other_size)
        return known;
    }
  return nullptr;
}

}  // namespace

const KnownModel* find_model_named_in(std::string_view name) {
  constexpr std::size_t kMostPieces = 20;
  if (const KnownModel* known = find_known_model(name)) return known;
  const std::vector<std::string_view> folders = split_text(name, '/');
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    const std::vector<std::string_view> pieces = split_text(*folder, '-');
    if (pieces.size() > kMostPieces) continue;
    if (const KnownModel* known = find_known_model(*folder)) return known;
    if (const KnownModel* known = model_in_pieces(pieces)) return known;
  }
  return nullptr;
}

std::string nearest_model_hint(std::string_view name) {
  std::vector<std::string_view> names;
  for (const KnownModel& model : known_models())
    for (const std::string& known : model.names) names.push_back(known);
  return nearest_key_hint(name, names);
}

}  // namespace hybridscope
