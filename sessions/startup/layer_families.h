// How each family of architectures spells in config.json what its layers cache. For
// architectures.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/startup/cached_layers.h"
#include "sessions/startup/hf_reader.h"

namespace hybridscope {

// Sets the layers, and what a start has to know about them. JsonFault: a key that is missing or
// wrong.
using ReadLayers = void(const HfConfigReader& reader, StartupModel& model);

ReadLayers read_qwen3_next, read_qwen3_5, read_qwen4_exp, read_glm5_next;
ReadLayers read_olmo_hybrid, read_nemotron_h, read_kimi, read_jamba, read_zamba2;
ReadLayers read_falcon_h1, read_granite, read_bamba, read_minimax, read_lfm2, read_lfm2_moe;
ReadLayers read_bailing_v2_5, read_bailing_v3, read_alice, read_plamo2, read_mamba, read_mamba2,
    read_attention_only, read_deepseek;

// The caches of one attention layer with the searched keys of Qwen4Exp or GLM-5.3, as a draft
// layer.
void add_sparse_draft(const HfConfigReader& reader, const std::string& name, StartupModel& model);

// What several families share.

// num_hidden_layers. JsonFault: more than kMostLayers.
inline constexpr std::int64_t kMostLayers = 10000;
std::int64_t num_layers(const HfConfigReader& reader);

// Which layers attend to all tokens: by layer_types, whose words for the two kinds are given, or
// every full_attention_interval-th.
// Which layers a list of numbers names, the first layer being number `first`. JsonFault: a number
// that no layer has.
std::vector<bool> listed_layers(const HfConfigReader& reader, std::string_view key,
                                std::int64_t layers, std::int64_t first = 0);

std::vector<bool> attending_layers(const HfConfigReader& reader, std::string_view recurrent,
                                   std::string_view attention = "full_attention");

// num_key_value_heads, and head_dim or hidden_size / num_attention_heads.
AttentionCache full_attention(const HfConfigReader& reader);
AttentionCache mla(const HfConfigReader& reader);

GatedDeltaNetDims gated_delta_net(const HfConfigReader& reader);
// The mamba_* keys of Granite, Falcon-H1 and Bamba.
Mamba2Dims prefixed_mamba2(const HfConfigReader& reader, std::int64_t intermediate_size);

// The dtype that a file gives for temporal states, as the classes of some models read it.
std::string ssm_dtype_of(const HfConfigReader& reader, const char* key, const char* absent);

// One cache a layer, in the order of the layers.
void add_layers(StartupModel& model, const std::vector<bool>& attends,
                const AttentionCache& attention, const StateCache& state);

}  // namespace hybridscope
