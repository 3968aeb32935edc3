#include <nlohmann/json.hpp>

#include "sessions/plan/size_words.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::string_view warm_name(WarmCache warm) {
  switch (warm) {
    case WarmCache::nothing:
      return "nothing";
    case WarmCache::whole_request:
      return "whole_request";
    case WarmCache::shared_prompt:
      return "shared_prompt";
  }
  return {};
}

Json optional_number(const std::optional<std::int32_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json block_to_json(const SizeAnswer& answer) {
  const BlockSizeChoice& choice = answer.setup.layout.page_size.choice;
  return {{"size", choice.block_size},
          {"multiple_of", choice.granularity},
          {"state_bytes", choice.mamba_page},
          {"attention_bytes_per_token", choice.attn_bytes_per_token},
          {"page_bytes", choice.page_size},
          {"padding_bytes", choice.padding},
          {"block_bytes", answer.block_bytes},
          {"why", why_block_size(answer.setup.layout)}};
}

Json requests_to_json(const RequestsAtOnce& most) {
  return {{"warm", warm_name(most.held.warm)},
          {"num_hit_tokens", most.held.num_hit_tokens},
          {"at_once", most.by_blocks},
          {"blocks_each", most.held.most.own},
          {"blocks_together", most.held.most.shared},
          {"blocks_by_group", most.held.by_group}};
}

Json pool_to_json(const SizeAnswer& answer) {
  Json pool = Json::array();
  for (const PoolUse& use : answer.pool)
    pool.push_back({{"for", use.kind},
                    {"blocks", use.blocks},
                    {"bytes", use.bytes},
                    {"padding_bytes", use.padding_bytes}});
  return pool;
}

}  // namespace

Json sizes_to_json(const SizeAnswer& answer, const std::vector<SizeChange>& changes) {
  const ModelLayout& layout = answer.setup.layout;
  Json json = {{"model", layout.model.name},
               {"mamba_cache_mode", mamba_cache_mode_name(layout.mamba_cache_mode)},
               {"num_blocks", answer.usable_blocks + 1},
               {"memory_bytes", answer.memory_bytes},
               {"block", block_to_json(answer)},
               {"prompt", answer.shape.prompt},
               {"output", answer.shape.output},
               {"shared", answer.shape.shared}};
  if (!answer.setup.release_profile.empty()) json["engine"] = answer.setup.release_profile;
  for (const RequestsAtOnce& most : answer.at_once)
    json["requests"].push_back(requests_to_json(most));
  json["longest_request"] = answer.longest_request;
  json["hits"] = {{"caching", answer.hits.caching},
                  {"multiple_of", answer.hits.grid},
                  {"smallest_prefix", optional_number(answer.hits.smallest_prefix)},
                  {"smallest_prompt", optional_number(answer.hits.smallest_prompt)},
                  {"computed_again", answer.hits.computed_again}};
  json["pool"] = pool_to_json(answer);
  for (const SizeLimit& limit : answer.limits)
    json["limits"].push_back(
        {{"name", limit.name}, {"requests", limit.requests}, {"binds", limit.binds}});
  if (answer.refused_max_num_seqs) json["refused_max_num_seqs"] = *answer.refused_max_num_seqs;
  json["changes"] = Json::array();
  for (const SizeChange& change : changes)
    json["changes"].push_back({{"setting", change.setting},
                               {"value", change.value},
                               {"requests", change.requests},
                               {"by_blocks", change.by_blocks},
                               {"block_size", change.block_size},
                               {"smallest_prefix", optional_number(change.smallest_prefix)}});
  return json;
}

}  // namespace hybridscope
