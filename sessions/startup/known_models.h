// Models that are known by name: their published shapes, each with where they come from.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

struct KnownModel {
  std::vector<std::string> names;  // "Qwen/Qwen3.5-27B", all with these shapes
  std::string source;              // a sentence: what was seen, and what could not be checked
  std::string date;                // "2026-11-30"
  std::string config;              // JSON: those keys of config.json that decide what is cached
};

// In the order of models_of_attention.json and models_of_mamba.json.
std::span<const KnownModel> known_models();

// The model of a Hugging Face name ("Qwen/Qwen3.8-27B"), a short one ("qwen3.8-27b"), or one of a
// quantised sibling ("...-NVFP4", "...-AWQ"), which caches the same. Null: none, or the short name
// fits several shapes.
const KnownModel* find_known_model(std::string_view name);

// The model whose name a folder's or a longer name contains: "/models/Qwen3.6-27B-AutoRound",
// "models--Qwen--Qwen3.5-9B/snapshots/0123abc". Null: none, or the rest of the name has another
// size ("Kimi-K3-7B").
const KnownModel* find_model_named_in(std::string_view name);

// ", did you mean "Qwen/Qwen3.5-9B"?"; empty: no known name is similar.
std::string nearest_model_hint(std::string_view name);

}  // namespace hybridscope
